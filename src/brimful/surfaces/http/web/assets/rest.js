// What did not get in, why, and at which budget would it?

import { bytes, find, make, named, number, plural } from "./dom.js";

const FIRST = 8;

const REASONS = {
  budget: "did not fit in what was left",
  stopped: "packing stopped before its turn",
  per_document: "its document has its share of windows already",
  duplicate: "a better window says the same",
  empty: "has no text",
  condensed: "did not fit; a digest stands for it",
};

/** The runner-ups, best first; `enter(budget)` is called when somebody wants one in. */
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
    find("rest").replaceChildren(...omitted.slice(0, this.shown).map((each) => this.row(each)));
    find("rest-more").hidden = left <= 0;
    find("rest-more").textContent = `Show ${plural(Math.min(left, 50), "more")}`.replace(/mores$/, "more");
  }

  reset() {
    this.shown = FIRST;
  }

  more() {
    this.shown += 50;
    this.show(this.answer);
  }

  row(each) {
    return make("li", {},
      make("button", { type: "button", class: "plain cite", onclick: () => this.open(each) },
        make("span", { class: "path" }, named(each.path)), " ", make("span", { class: "lines" }, bytes(each))),
      make("p", { class: "why" }, `${each.score.toFixed(2)}: ${REASONS[each.reason] || each.reason}`),
      each.enters_at && make("button", { type: "button", class: "enter", onclick: () => this.enter(each.enters_at) },
        `Enters at ${number(each.enters_at)} tokens`));
  }
}
