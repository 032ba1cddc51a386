// What did not get in, why, and at which budget would it?

import { button, citation, find, make, number, place, plural } from "./dom.js";

const FIRST = 8;
const MORE = 50;

const REASONS = {
  budget: "did not fit in what was left",
  stopped: "packing stopped before its turn",
  per_document: "its document has its share of windows already",
  duplicate: "a better window says the same",
  empty: "has no text",
  condensed: "did not fit; a digest stands for it",
};

/** The runner-ups, best first; `enter(budget)` is called when somebody wants one in, reserves included. */
export class Rest {
  constructor({ enter, open }) {
    Object.assign(this, { enter, open, shown: FIRST, answer: null });
    find("rest-more").addEventListener("click", () => this.more());
  }

  show(answer) {
    this.answer = answer;
    const { omitted } = answer;
    const left = omitted.length - this.shown;
    find("rest-section").hidden = !omitted.length;
    find("rest-note").textContent = omitted.length ? `${plural(omitted.length, "window")} left out, best first.` : "";
    const held = [...find("rest").children].indexOf(document.activeElement?.closest("#rest li"));
    find("rest").replaceChildren(...omitted.slice(0, this.shown).map((each) => this.row(each)));
    if (held >= 0) find("rest").children[held]?.querySelector("button").focus();
    find("rest-more").hidden = left <= 0;
    find("rest-more").textContent = `Show ${Math.min(left, MORE)} more`;
  }

  reset() {
    this.shown = FIRST;
  }

  more() {
    this.shown += MORE;
    this.show(this.answer);
  }

  row(each) {
    const { total, available } = this.answer.account;
    const budget = each.enters_at && each.enters_at + total - available;
    return make("li", {},
      citation(each, place(each), () => this.open(each)),
      make("p", { class: "why" }, `${each.score.toFixed(2)}: ${REASONS[each.reason] || each.reason}`),
      budget && button(`Enters at ${number(budget)} tokens`, () => this.enter(budget), { class: "enter" }));
  }
}
