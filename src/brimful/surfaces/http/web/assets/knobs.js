// Which settings are there, and what was chosen?

import { find, make, number } from "./dom.js";
import { CONTROLS, DEFAULTS, RESERVES, choices, filters, narrowed, reserved, switches } from "./state.js";

const KEPT = {
  reserved_system: ["System", "Of the budget, for the system prompt"],
  reserved_query: ["Question", "Of the budget, for the question"],
  reserved_response: ["Answer", "Of the budget, for the model's answer"],
};
const SHAPES = {
  path: "docs/; *.md",
  not_path: "drafts/",
  after: "2024-05-12",
  before: "2025",
  phrase: "words side by side",
  without: "a word; a phrase",
};
const SMALLEST = 100;
const LARGEST = 200_000;

/** The fields; `turned(change, {settled})` is called as they change, settled when the hand is off. */
export class Knobs {
  constructor({ turned }) {
    this.turned = turned;
    const slider = find("slider");
    const budget = find("budget");
    slider.addEventListener("input", () => this.slide(false));
    slider.addEventListener("change", () => this.slide(true));
    budget.addEventListener("input", () => this.type(false));
    budget.addEventListener("change", () => this.type(true));
    this.reserves = new Map(RESERVES.map((name) => [name, amount(name)]));
    for (const [name, field] of this.reserves) field.addEventListener("change", () => this.keep(name, field));
    find("reserves").replaceChildren(...[...this.reserves].map(([name, field]) => labelled(KEPT[name][0], field)));
  }

  /** Make the fields from what the server says can be chosen; `models` are names to offer. */
  setUp(models) {
    this.fields = new Map(choices().map((name) => [name, this.field(name)]));
    this.fields.get("model").setAttribute("list", "models");
    find("knobs").replaceChildren(
      ...[...this.fields].map(([name, field]) => labelled(words(name), field)),
      make("datalist", { id: "models" }, models.map((each) => make("option", { value: each }))),
    );
    this.filters = new Map(filters().map((name) => [name, this.field(name, { any: true })]));
    this.switches = new Map(switches().map((name) => [name, make("input", { id: name, type: "checkbox" })]));
    for (const [name, box] of this.switches) {
      box.addEventListener("change", () => this.turned({ [name]: box.checked }, { settled: true }));
    }
    find("narrow").replaceChildren(
      ...[...this.filters].map(([name, field]) => labelled(words(name), field)),
      ...[...this.switches].map(([name, box]) =>
        make("p", { class: "check" }, box, make("label", { for: name }, CONTROLS.get(name).help.replace(/\.$/, "")))),
    );
  }

  /** A control for one choice: a list of its values, or a field to write in. */
  field(name, { any = false } = {}) {
    const { values, help } = CONTROLS.get(name);
    const listed = [...(any ? [make("option", { value: "" }, "any")] : []), ...values.map(option)];
    const plain = { id: name, title: help, spellcheck: "false", autocapitalize: "off", placeholder: SHAPES[name] ?? "" };
    const field = values.length ? make("select", { id: name, title: help }, listed) : make("input", plain);
    field.addEventListener("change", () =>
      this.turned({ [name]: field.value.trim() || DEFAULTS[name] }, { settled: true }));
    return field;
  }

  showFilters(run) {
    for (const [name, field] of this.filters || []) put(field, run[name]);
    for (const [name, box] of this.switches || []) box.checked = run[name];
    const set = Object.keys(narrowed(run)).length;
    find("filters-sum").textContent = set ? `${set} set` : "";
  }

  show(run) {
    for (const [name, field] of this.fields || []) put(field, run[name]);
    const turned = [...(this.fields || [])].filter(([name]) => run[name] !== DEFAULTS[name]).length;
    find("settings-sum").textContent = turned ? `${turned} set` : "";
    this.showFilters(run);
    for (const [name, field] of this.reserves) field.value = String(run[name]);
    find("kept-sum").textContent = reserved(run) ? number(reserved(run)) : "";
    if (document.activeElement !== find("budget")) find("budget").value = String(run.budget);
    if (document.activeElement !== find("slider")) find("slider").value = String(this.position(run.budget));
    this.say(run.budget);
  }

  slide(settled) {
    const budget = this.amount(Number(find("slider").value));
    find("budget").value = String(budget);
    this.say(budget);
    this.turned({ budget }, { settled });
  }

  type(settled) {
    const budget = Number(find("budget").value);
    if (!fits(find("budget"), { say: settled })) return;
    find("slider").value = String(this.position(budget));
    this.say(budget);
    this.turned({ budget }, { settled });
  }

  keep(name, field) {
    if (fits(field, { say: true })) this.turned({ [name]: Number(field.value || 0) }, { settled: true });
  }

  say(budget) {
    find("slider").setAttribute("aria-valuetext", `${number(budget)} tokens`);
  }

  /** A place of the slider as a budget, in two digits; each step is the same share of the whole. */
  amount(position) {
    const exact = SMALLEST * (LARGEST / SMALLEST) ** (position / 1000);
    const unit = 10 ** Math.max(Math.floor(Math.log10(exact)) - 1, 0);
    return Math.round(exact / unit) * unit;
  }

  position(budget) {
    const share = Math.log(Math.max(budget, SMALLEST) / SMALLEST) / Math.log(LARGEST / SMALLEST);
    return Math.round(1000 * Math.min(share, 1));
  }
}

function put(field, value) {
  field.value = value;
  if (field.value !== value) field.append(option(value)); // a link may hold no choice: the server says so
  field.value = value;
}

/** Whether a field holds what it may; else the browser says what is wrong with it, once the hand is off. */
const fits = (field, { say }) => (say ? field.reportValidity() : field.checkValidity());

const option = (choice) => make("option", { value: choice }, choice.replaceAll("_", " "));

const amount = (name) =>
  make("input", { id: name, title: KEPT[name][1], type: "number", min: "0", step: "1", inputmode: "numeric" });

const words = (name) => name.replaceAll("_", " ");

const labelled = (words, field) =>
  make("div", { class: "knob" }, make("label", { for: field.id, title: field.title }, words), field);
