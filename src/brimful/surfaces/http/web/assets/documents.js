// What stands around a citation?

import { get } from "./api.js";
import { refusal, show } from "./dialog.js";
import { button, make, named, place, size } from "./dom.js";
import { cut } from "./marks.js";

const AROUND = 6000; // bytes on each side

/** Show the document around a window, the window marked. */
export async function openDocument(window) {
  const title = window.lines ? `${named(window.path)}, ${place(window)}` : named(window.path);
  const body = show(title, make("p", { class: "aside" }, "Reading the document"));
  try {
    await view(body, window, AROUND);
  } catch (error) {
    body.replaceChildren(refusal(error));
  }
}

async function view(body, { path, start, end }, around) {
  const found = await get(`/v1/documents/text?${new URLSearchParams({ path, start, end, around })}`);
  const isWhole = found.start === 0 && found.end === found.document_bytes;
  const sheet = paper(found, start, end);
  const more = button("Show more around it", () => view(body, { path, start, end }, 8 * around));
  body.replaceChildren(
    make("p", { class: "aside" }, `${isWhole ? "The whole document" : "A part of the document"}, ${size(found.document_bytes)}`),
    sheet,
    isWhole ? "" : more);
  const cited = sheet.querySelector("mark");
  if (cited) sheet.scrollTop = Math.max(cited.offsetTop - sheet.offsetTop - sheet.clientHeight / 4, 0);
  sheet.focus({ preventScroll: true });
}

/** Numbered lines, with the bytes [start, end) of the document marked. */
function paper(found, start, end) {
  const before = cut(found.text, 0, start - found.start).length;
  const after = before + cut(found.text, start - found.start, end - found.start).length;
  const sheet = make("div", { class: "sheet", tabindex: "0", role: "region", "aria-label": "Document text" });
  let at = 0;
  for (const [number, line] of found.text.split("\n").entries()) {
    const [from, to] = [Math.max(before - at, 0), Math.min(after - at, line.length)];
    const nodes = from < to ? [line.slice(0, from), make("mark", {}, line.slice(from, to)), line.slice(to)] : [line];
    if (at === found.text.length && number) break; // behind the last line's end
    sheet.append(make("div", { class: "row" },
      make("span", { "aria-hidden": "true" }, String(found.lines[0] + number)), make("code", {}, nodes)));
    at += line.length + 1;
  }
  return sheet;
}
