// Which keys are there, and what does each setting do?

import { make } from "./dom.js";
import { facts, show } from "./dialog.js";
import { always } from "./kept.js";

const KEYS = [
  ["/", "go to the question"],
  ["Enter", "ask; on a window, open its document"],
  ["Shift Enter", "begin a new line in the question"],
  ["j  k", "next window, window before"],
  ["p", "pin this run to compare with it"],
  ["?", "this help"],
  ["Esc", "close what is open"],
];

const KNOBS = [
  ["Sizing", [
    ["field", "fills the budget from the most relevant ground down"],
    ["density", "windows as wide as the hits stand close"],
    ["radial", "the same room around every hit"],
    ["elastic", "a radius that shares the budget over all hits"],
  ]],
  ["Strategy", [
    ["adjacent", "windows stand alone"],
    ["temporal", "windows close in time are read together"],
    ["semantic", "windows alike in words are read together"],
    ["narrative", "windows about the same names are read together"],
  ]],
  ["Packing", [
    ["greedy", "best first; what does not fit is skipped"],
    ["interleaved", "documents take turns"],
    ["score weighted", "stops at the first that does not fit"],
  ]],
  ["Fill", [
    ["brim", "windows grow until the next sentence would not fit"],
    ["relevant", "stops where what is relevant ends"],
  ]],
  ["Order", [
    ["relevance", "documents by their best window"],
    ["best", "the three best windows first"],
    ["ends", "the best documents first and last"],
  ]],
  ["Filters", [
    ["several", "stand behind each other, with ; between them"],
    ["path, not path", "a part of the path, or a pattern: *.md"],
    ["after, before", "a year, month, day or time: 2024-05-12"],
    ["phrase, without", "words side by side that a document has, or has not"],
    ["operators", 'in the question: "phrases", -words, beginnings*, path:'],
  ]],
];

const STORED = "brimful.keys";

/** Letters act as keys unless that was switched off here. */
export const hasKeys = () => always.get(STORED) !== "off";

export function openHelp() {
  const box = make("input", { type: "checkbox", id: "keys-on", checked: hasKeys() });
  box.addEventListener("change", () => always.set(STORED, box.checked ? "" : "off"));
  show("Help",
    make("h3", {}, "Keys"),
    facts(KEYS.map(([name, words]) => [make("kbd", {}, name), words])),
    make("p", { class: "check" }, box, make("label", { for: "keys-on" }, "Single letters act as keys")),
    ...KNOBS.flatMap(([name, rows]) => [make("h3", {}, name), facts(rows)]));
}
