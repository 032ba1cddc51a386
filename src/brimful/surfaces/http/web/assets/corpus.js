// What does the store hold?

import { get } from "./api.js";
import { facts, refusal, show } from "./dialog.js";
import { button, citation, find, make, named, number, plural, size } from "./dom.js";

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
    const more = button("Show more", null, { class: "quiet" });
    const add = (answer) => {
      list.append(...answer.documents.map((each) => row(each, open)));
      more.hidden = !answer.next;
      more.onclick = async () => add(await get(`/v1/documents?cursor=${encodeURIComponent(answer.next)}`));
    };
    add(first);
    body.replaceChildren(
      facts([
        ["store", make("code", {}, named(status.store))],
        ["holds", `${plural(status.documents, "document")}, ${size(status.bytes)}`],
        ["on disk", size(status.store_bytes)],
        ["kinds", kinds(status.kinds)],
        ["from", places(status.places)],
        ["state root", make("code", { id: "root" }, status.root)],
      ]),
      make("h3", {}, "Documents"), list, more);
  } catch (error) {
    body.replaceChildren(refusal(error));
  }
}

const kinds = (counts) => Object.entries(counts).map(([kind, count]) => `${number(count)} ${kind}`).join(", ");

function places(added) {
  if (!added.length) return "texts that were added one by one";
  return make("ul", {}, added.map((place) => make("li", {}, make("code", {}, named(place)))));
}

function row(each, open) {
  return make("li", {},
    citation(each, "", () => open({ path: each.path, start: 0, end: 0 })),
    make("span", { class: "aside" }, `${each.kind}, ${size(each.bytes)}`));
}
