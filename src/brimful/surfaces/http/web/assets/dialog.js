// What is shown on top of the page, one thing at a time? Esc closes it, and the focus goes back to where it was.

import { find, make, named } from "./dom.js";

let opener = null;

/** Open the dialog with this title and these nodes; returns its body, to be filled further. */
export function show(title, ...nodes) {
  const dialog = find("dialog");
  find("dialog-title").textContent = title;
  const body = find("dialog-body");
  body.replaceChildren(...nodes);
  if (!dialog.open) {
    opener = document.activeElement;
    dialog.showModal();
  }
  body.scrollTop = 0;
  find("dialog-title").focus();
  return body;
}

export const close = () => find("dialog").close();

export const isOpen = () => find("dialog").open;

export function setUp() {
  const dialog = find("dialog");
  find("dialog-close").addEventListener("click", close);
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) close(); // the backdrop
  });
  dialog.addEventListener("close", () => {
    find("dialog-body").replaceChildren();
    if (opener?.isConnected) opener.focus();
    opener = null;
  });
}

/** A refusal, as a paragraph with its remedy. */
export function refusal(error) {
  return make("div", { class: "problem", role: "alert" },
    make("p", { class: "problem-title" }, named(error.title || "That did not work")),
    error.message && error.message !== error.title && make("p", {}, named(error.message)),
    error.remedy && make("p", { class: "remedy" }, named(error.remedy)));
}

/** Name and value pairs. */
export function facts(rows) {
  const pairs = rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]);
  return make("dl", { class: "fact-list" }, pairs);
}
