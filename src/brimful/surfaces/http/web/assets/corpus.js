// What does the store hold?

import { get } from "./api.js";
import { facts, refusal, show } from "./dialog.js";
import { find, make, named, number, plural, size } from "./dom.js";

/** The line in the head of the page. */
export function showCorpusLine(status) {
  find("corpus-open").textContent = `${plural(status.documents, "document")}, ${size(status.bytes)}`;
}

/** The store in numbers, the places it was filled from, and its documents. */
export async function openCorpus(open) {
  const body = show("Corpus", make("p", { class: "aside" }, "Reading the store"));
  try {
    const [status, first] = await Promise.all([get("/v1/status"), get("/v1/documents")]);
    const list = make("ul", { class: "documents", id: "documents" });
    const more = make("button", { type: "button", class: "quiet" }, "Show more");
    const add = (answer) => {
      list.append(...answer.documents.map((each) => row(each, open)));
      more.hidden = !answer.next;
      more.onclick = async () => add(await get(`/v1/documents?cursor=${encodeURIComponent(answer.next)}`));
    };
    add(first);
    body.replaceChildren(
      facts([
        ["store", make("code", {}, named(status.store))],
        ["holds", `${plural(status.documents, "document")}, ${size(status.bytes)}; ${size(status.store_bytes)} on disk`],
        ["kinds", Object.entries(status.kinds).map(([kind, count]) => `${number(count)} ${kind}`).join(", ") || "none"],
        ["from", status.places.length ? make("ul", {}, status.places.map((place) => make("li", {}, make("code", {}, named(place))))) : "texts that were added one by one"],
        ["state root", make("code", { id: "root" }, status.root)],
      ]),
      make("h3", {}, "Documents"), list, more);
  } catch (error) {
    body.replaceChildren(refusal(error));
  }
}

function row(each, open) {
  return make("li", {},
    make("button", { type: "button", class: "plain cite", onclick: () => open({ path: each.path, start: 0, end: 0 }) }, make("span", { class: "path" }, named(each.path))),
    make("span", { class: "aside" }, `${each.kind}, ${size(each.bytes)}`));
}
