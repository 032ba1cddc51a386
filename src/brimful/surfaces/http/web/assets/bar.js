// How full is the budget? A bar of its parts, with their numbers.

import { make, number, plural } from "./dom.js";

const PARTS = [
  ["reserves", "reserved", "kept for the rest of the call"],
  ["content", "content", "text of the documents"],
  ["digests", "digests", "text of the documents, shortened"],
  ["seams", "seams", "headings and signatures that the passages stand under"],
  ["headers", "headers", "where each passage is from"],
  ["markers", "markers", "signs that a text goes on"],
  ["free", "free", "left of the budget"],
];
const ALWAYS = new Set(["reserves", "content", "headers", "free"]);

/** The parts in tokens, as the server's account has them. */
function parts({ account }) {
  return { ...account, reserves: account.reserved_system + account.reserved_query + account.reserved_response };
}

/** "1,996 of 2,000 tokens". */
export const fullness = (answer) => `${number(answer.tokens)} of ${plural(answer.budget, "token")}`;

/** A bar that can be filled again: `.element` to show, `.show(answer)` to fill it. */
export class Bar {
  constructor({ legend = true } = {}) {
    this.segments = new Map(PARTS.map(([name]) => [name, make("span", { class: `part part-${name}` })]));
    this.track = make("div", { class: "bar", role: "img" }, ...this.segments.values());
    this.legend = legend ? make("dl", { class: "legend" }) : null;
    this.element = make("div", {}, this.track, this.legend);
  }

  show(answer) {
    const tokens = parts(answer);
    for (const [name, segment] of this.segments) {
      segment.style.flexGrow = String(tokens[name]);
      segment.hidden = !tokens[name];
    }
    const shown = PARTS.filter(([name]) => tokens[name] || ALWAYS.has(name));
    const said = shown.map(([name, words]) => `${words} ${number(tokens[name])}`);
    this.track.setAttribute("aria-label", `Budget of ${number(answer.account.total)} tokens: ${said.join(", ")}.`);
    this.legend?.replaceChildren(
      ...shown.map(([name, words, about]) =>
        make("div", { class: tokens[name] ? "" : "none", title: about },
          make("dt", {}, make("span", { class: `swatch part-${name}`, "aria-hidden": "true" }), words),
          make("dd", {}, number(tokens[name])))),
    );
  }
}
