// What changed between two runs? Windows that came, went, grew or shrank, and both bars.

import { Bar, fullness } from "./bar.js";
import { button, citation, find, key, make, place, plural } from "./dom.js";
import { differences } from "./state.js";

const KINDS = [
  ["came", "came in"],
  ["went", "went out"],
  ["grew", "grew"],
  ["shrank", "shrank"],
  ["moved", "moved"],
  ["same", "stayed"],
];

/** For each window of `now`: what became of it since `before`; and which windows of `before` are gone. */
export function compare(before, now) {
  const changes = new Map();
  const kept = new Set();
  for (const window of now.windows) {
    const others = before.windows.filter((each) => each.path === window.path && overlap(each, window) > 0);
    for (const each of others) kept.add(each);
    changes.set(key(window), change(window, others));
  }
  return { changes, went: before.windows.filter((each) => !kept.has(each)) };
}

const overlap = (one, other) => Math.min(one.end, other.end) - Math.max(one.start, other.start);

function change(window, others) {
  if (!others.length) return { kind: "came", said: "came in" };
  const shared = others.reduce((sum, each) => sum + overlap(each, window), 0);
  const more = window.end - window.start - shared;
  const less = others.reduce((sum, each) => sum + each.end - each.start, 0) - shared;
  if (!more && !less) return { kind: "same", said: "" };
  if (!less) return { kind: "grew", said: `grew by ${plural(more, "byte")}` };
  if (!more) return { kind: "shrank", said: `shrank by ${plural(less, "byte")}` };
  return { kind: "moved", said: `gained ${plural(more, "byte")}, lost ${plural(less, "byte")}` };
}

/** The comparison above the windows. */
export class Comparison {
  constructor({ unpin, swap, open, go }) {
    Object.assign(this, { unpin, swap, open, go });
    this.bars = [new Bar({ legend: false }), new Bar({ legend: false })];
  }

  hide() {
    find("comparison").hidden = true;
  }

  show({ before, now, runs, found }) {
    const counts = Object.fromEntries(KINDS.map(([kind]) => [kind, 0]));
    for (const each of found.changes.values()) counts[each.kind] += 1;
    counts.went = found.went.length;
    const widest = Math.max(before.account.total, now.account.total);
    for (const [at, answer] of [before, now].entries()) {
      this.bars[at].show(answer);
      this.bars[at].track.style.width = `${(100 * answer.account.total) / widest}%`;
    }
    const section = find("comparison");
    section.hidden = false;
    section.replaceChildren(
      make("header", {},
        make("h2", { id: "comparison-title" }, "Compared with the pinned run"),
        make("div", { class: "actions" },
          button("Swap", this.swap, { id: "swap" }),
          button("Unpin", this.unpin, { id: "unpin" }))),
      make("div", { class: "pair" },
        this.side("Pinned", before, runs.pinned, runs.run, 0),
        this.side("Now", now, runs.run, runs.pinned, 1)),
      make("p", { class: "counts", id: "counts" },
        KINDS.filter(([kind]) => counts[kind]).map(([kind, words]) =>
          make("span", { class: "count" }, make("b", {}, String(counts[kind])), ` ${words}`))),
      this.list(now, found),
    );
  }

  side(title, answer, run, other, at) {
    const knobs = differences(run, other).map((name) => `${name} ${run[name]}`);
    return make("div", { class: "side" },
      make("p", { class: "side-head" },
        make("b", {}, title), ` ${fullness(answer)}, ${plural(answer.windows.length, "window")}`),
      this.bars[at].element,
      make("p", { class: "aside" }, knobs.length ? knobs.join(", ") : "the same settings"));
  }

  list(now, found) {
    const changed = now.windows.filter((each) => found.changes.get(key(each)).said);
    const row = (window, { kind, said }, onclick) =>
      make("li", { class: `change-${kind}` },
        citation(window, place(window), onclick), make("span", { class: "said" }, said));
    return make("ul", { class: "changes" },
      changed.map((each) => row(each, found.changes.get(key(each)), () => this.go(each))),
      found.went.map((each) => row(each, { kind: "went", said: "went out" }, () => this.open(each))));
  }
}
