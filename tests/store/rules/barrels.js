// How much water is in the barrels, and when are they empty?

import { readFile } from "node:fs/promises";

const LITRES_PER_MILLIMETRE = 0.8;
export const LARGEST = 220;

/** One of three, each below a gutter of its own. */
export class Barrel {
  constructor(name, litres = 0, leaks = 0) {
    this.name = name;
    this.litres = litres;
    this.leaks = leaks;
  }

  /** Take in what the roof gives; returns what runs over. */
  fill(millimetres, roof) {
    const wanted = this.litres + millimetres * roof * LITRES_PER_MILLIMETRE;
    this.litres = Math.min(wanted, LARGEST);
    return wanted - this.litres;
  }

  /** Take out as much as there is. */
  pour(litres) {
    const taken = Math.min(litres, this.litres);
    this.litres -= taken;
    return taken;
  }

  /** What leaks is gone in the morning. */
  nextDay() {
    this.litres = Math.max(this.litres - this.leaks, 0);
  }
}

/**
 * For how many days the water lasts without any rain.
 *
 * A barrel that leaks is poured from first. Without a need and without a leak it would last for ever, so the answer is
 * never more than a year.
 */
export function daysLeft(barrels, need) {
  if (need < 0) {
    throw new RangeError(`a need of ${need} litres is no need; give 0 or more`);
  }
  const order = [...barrels].sort((one, other) => other.leaks - one.leaks);
  for (let day = 0; day < 365; day += 1) {
    let missing = need;
    for (const barrel of order) {
      missing -= barrel.pour(missing);
      barrel.nextDay();
    }
    if (missing > 0) {
      return day;
    }
  }
  return 365;
}

/** A line for each barrel, the fullest first. */
export function report(barrels) {
  const lines = [];
  for (const barrel of [...barrels].sort((one, other) => other.litres - one.litres)) {
    const state = barrel.leaks ? "leaks" : "tight";
    lines.push(`${barrel.name.padEnd(12)}${barrel.litres.toFixed(1).padStart(8)} l  ${state}`);
  }
  return lines.join("\n");
}

const listed = JSON.parse(await readFile("barrels.json", "utf8"));
console.log(report(listed.map(({ name, litres, leaks }) => new Barrel(name, litres, leaks))));
