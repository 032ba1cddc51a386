// What did a run leave as evidence, and does it hold against the sources?

import { get, post } from "./api.js";
import { facts, refusal, show } from "./dialog.js";
import { bytes, button, make, named, number, plural } from "./dom.js";

/** Show the receipt of an answer, with a button that checks it against the store. */
export async function openReceipt(answer) {
  const body = show("Receipt", make("p", { class: "aside" }, "Reading the receipt"));
  try {
    const receipt = await get(`/v1/receipts/${encodeURIComponent(answer.receipt)}`);
    const outcome = make("div", { id: "verified", role: "status" });
    const check = button("Verify", () => verify(receipt, answer, outcome), { id: "verify" });
    const counted = `${answer.exact ? "counted exactly" : "estimated"} for ${answer.model}`;
    body.replaceChildren(
      make("p", {}, "It names every byte of this context by document hash and place, and the state it was cut from."),
      facts([
        ["receipt", make("code", {}, answer.receipt)],
        ["state root", make("code", {}, answer.root)],
        ["tokens", `${number(answer.tokens)} of ${number(answer.budget)}, ${counted}`],
        ["cites", plural(answer.windows.length, "window")],
      ]),
      make("p", { class: "actions" }, check),
      outcome,
      make("details", {},
        make("summary", {}, "The receipt as JSON"),
        make("pre", { tabindex: "0" }, make("code", {}, JSON.stringify(receipt, null, 2)))));
  } catch (error) {
    body.replaceChildren(refusal(error));
  }
}

async function verify(receipt, answer, outcome) {
  outcome.replaceChildren(make("p", { class: "aside" }, "Reading every cited byte again"));
  try {
    const found = await post("/v1/verify", { receipt, text: answer.text });
    outcome.replaceChildren(
      found.findings.length
        ? make("ul", { class: "findings" }, found.findings.map(finding))
        : make("p", { class: found.verified ? "good" : "aside" }, found.verified
          ? `Verified: ${plural(answer.windows.length, "window")} written again from the store.`
          : "Verified, but for the words of digests: a model wrote them, and no source has them."),
      make("details", {},
        make("summary", {}, "What was compared, and what was not"),
        make("ul", {}, found.compared.map((each) => make("li", {}, each))),
        make("ul", {}, found.not_checked.map((each) => make("li", {}, `Not checked: ${each}`)))));
  } catch (error) {
    outcome.replaceChildren(refusal(error));
  }
}

function finding({ path, start, end, message }) {
  const where = path === null ? "" : `${named(path)}${start === null ? "" : `, ${bytes({ start, end })}`}: `;
  return make("li", {}, where + named(message));
}
