// What does the model read? The windows, the best first or as they are read, each with citation, score and words.

import { button, bytes, citation, find, key, make, named, place, plural } from "./dom.js";
import { cut, marked } from "./marks.js";

const NEAR = 400; // bytes in which words count as standing together
const LONG = 24; // lines; a longer window is folded until it is asked for

/** The list of windows; those that stay keep their place in the page, with focus and scroll. */
export class Windows {
  constructor({ open }) {
    this.open = open;
    this.list = find("list");
    this.orders = [...find("sort").querySelectorAll("button")];
    for (const each of this.orders) each.addEventListener("click", () => this.sort(each.dataset.order));
    this.order = "best";
    this.known = new Map();
  }

  /** Show the same windows in another order. */
  sort(order) {
    this.order = order;
    for (const each of this.orders) each.setAttribute("aria-pressed", String(each.dataset.order === order));
    if (this.shown) this.show(...this.shown);
  }

  show(answer, changes) {
    this.shown = [answer, changes];
    find("sort").hidden = answer.windows.length < 2;
    const best = Math.max(...answer.windows.map((window) => window.score), 0);
    const ranks = ranked(answer.windows);
    const held = document.activeElement?.closest?.("article")?.dataset.key;
    const read = new Set(answer.corrections.map(({ word }) => word));
    const shown = new Map();
    const nodes = [];
    let path = null;
    for (const [at, window] of this.sorted(answer.windows, ranks)) {
      const name = `${answer.root}\u0000${key(window)}\u0000${JSON.stringify(window.matches)}`;
      const card = this.known.get(name) || new Card(window, this.open);
      const rank = `${ordinal(ranks.get(window))} of ${answer.windows.length}`;
      card.update({ window, at, rank, best, change: changes?.get(key(window)), read });
      card.element.classList.toggle("follows", window.path === path);
      path = window.path;
      shown.set(name, card);
      nodes.push(card.element);
    }
    this.known = shown;
    this.list.replaceChildren(...nodes);
    for (const card of shown.values()) card.openAtHit();
    if (held && document.activeElement === document.body) {
      nodes.find((node) => node.dataset.key === held)?.focus({ preventScroll: true });
    }
  }

  /** The windows with their places in the text. */
  sorted(windows, ranks) {
    const places = [...windows.entries()];
    return this.order === "best" ? places.sort(([, one], [, other]) => ranks.get(one) - ranks.get(other)) : places;
  }

  clear() {
    this.known = new Map();
    this.shown = null;
    find("sort").hidden = true;
    this.list.replaceChildren();
  }

  /** Move to the next window (1) or the one before (-1). */
  step(by) {
    const nodes = [...this.list.children];
    const at = nodes.indexOf(document.activeElement?.closest?.("article"));
    const next = nodes[at < 0 ? (by > 0 ? 0 : nodes.length - 1) : Math.min(Math.max(at + by, 0), nodes.length - 1)];
    this.reveal(next);
  }

  go(window) {
    this.reveal([...this.list.children].find((node) => node.dataset.key === key(window)));
  }

  reveal(node) {
    if (!node) return;
    node.focus({ preventScroll: true });
    node.scrollIntoView({ block: "nearest" });
  }

  /** Open the citation of the window that has the focus. */
  openHeld() {
    document.activeElement?.closest?.("article")?.querySelector(".cite")?.click();
  }
}

class Card {
  constructor(window, open) {
    this.matches = window.matches;
    this.count = window.text.split("\n").length - (window.text.endsWith("\n") ? 1 : 0);
    const folds = this.count > LONG;
    const title = `window-${Math.random().toString(36).slice(2)}`;
    this.facts = make("p", { class: "facts" });
    this.why = make("p", { class: "why" });
    this.change = make("span", { class: "change" });
    this.fills = make("span", { class: "fills" }, "fills the budget");
    const text = make("code", {}, marked(window.text, window.matches, window.start));
    this.text = make("pre", { class: folds ? "folded" : "" }, text);
    this.fold = folds && button("", () => this.unfold(), { class: "quiet unfold" });
    const named = { "data-key": key(window), "aria-labelledby": title };
    this.element = make("article", { class: "window", tabindex: "-1", ...named },
      make("header", {},
        make("h3", { id: title }, citation(window, place(window), () => open(window))), this.change, this.fills, this.facts),
      this.text, this.fold, this.why);
    if (folds) this.label();
  }

  update({ window, at, rank, best, change, read }) {
    this.element.id = `window-${at + 1}`;
    const meter = make("span", { class: "meter", "aria-hidden": "true" }, make("span", { class: "meter-fill" }));
    meter.firstChild.style.width = `${best ? Math.round((100 * window.score) / best) : 0}%`;
    this.facts.replaceChildren(
      make("span", {}, bytes(window)),
      make("span", { class: "score" }, meter, `score ${window.score.toFixed(2)}`),
    );
    this.why.replaceChildren(...reasons(window, rank, read));
    this.change.textContent = change?.said || "";
    this.change.hidden = !change?.said;
    this.fills.hidden = !window.filling;
    this.element.classList.toggle("filling", window.filling);
  }

  unfold() {
    this.text.classList.toggle("folded");
    this.label();
    this.openAtHit();
  }

  /** Scroll a folded text to where most words of the question stand together. */
  openAtHit() {
    const isFolded = this.fold && this.text.classList.contains("folded");
    const marks = isFolded ? this.text.querySelectorAll("mark") : [];
    const hit = marks[densest(this.matches)];
    const from = hit ? hit.offsetTop - this.text.offsetTop - this.text.clientHeight / 4 : 0;
    this.text.scrollTop = Math.max(from, 0);
    this.text.classList.toggle("inside", this.text.scrollTop > 0);
  }

  label() {
    const isFolded = this.text.classList.contains("folded");
    this.fold.setAttribute("aria-expanded", String(!isFolded));
    this.fold.textContent = isFolded ? `Show all ${plural(this.count, "line")}` : "Show less";
  }
}

/** The match that most different words follow closely. */
function densest(matches) {
  const words = matches.map(({ start }) =>
    new Set(matches.filter((other) => other.start >= start && other.start < start + NEAR).map(({ word }) => word)).size);
  return words.indexOf(Math.max(...words));
}

function ranked(windows) {
  const order = [...windows].sort((one, other) => other.score - one.score);
  return new Map(order.map((window, at) => [window, at + 1]));
}

/** Why a window is in; a word that was `read` as another is named as it stands there. */
function reasons(window, rank, read) {
  const there = ({ start, end }) => cut(window.text, start - window.start, end - window.start).toLowerCase();
  const held = [...new Set(window.matches.map((match) => (read.has(match.word) ? there(match) : match.word)))].sort();
  const words = held.length
    ? ["holds ", ...held.flatMap((word, at) => [at ? ", " : "", make("b", {}, named(word))])]
    : ["holds no word of the question, but stands near them or is close in meaning"];
  const [lexical, semantic] = [window.lexical || 0, window.semantic || 0].map((score) => score.toFixed(2));
  return [`${rank} by score (words ${lexical}, meaning ${semantic}); `, ...words];
}

function ordinal(value) {
  const tens = value % 100;
  const ending = tens >= 11 && tens <= 13 ? "th" : { 1: "st", 2: "nd", 3: "rd" }[value % 10] || "th";
  return `${value}${ending}`;
}
