// How full is the budget? A bar of its parts, with their numbers.

import { make, number, plural } from "./dom.js";

const PARTS = [
  ["reserves", "reserved"],
  ["content", "content"],
  ["digests", "digests"],
  ["seams", "seams"],
  ["headers", "headers"],
  ["markers", "markers"],
  ["free", "free"],
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
      ...shown.map(([name, words]) =>
        make("div", { class: tokens[name] ? "" : "none" },
          make("dt", {}, make("span", { class: `swatch part-${name}`, "aria-hidden": "true" }), words),
          make("dd", {}, number(tokens[name])))),
    );
  }
}
