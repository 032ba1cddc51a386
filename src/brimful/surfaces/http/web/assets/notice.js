// What stands in the way of an answer? A refusal with its remedy, a token that is missing, something to know.

import { token } from "./api.js";
import { refusal } from "./dialog.js";
import { button, find, make } from "./dom.js";

export function hideNotice() {
  find("notice").hidden = true;
}

/** Something to know beside the answer. */
export function warn(words) {
  show(make("p", {}, words));
}

/** A refusal in place of the answer; a missing token is asked for, else `again` tries again. */
export function refuse(error, again) {
  show(refusal(error), error.status === 401 ? tokenForm(again) : button("Try again", again));
}

function show(...nodes) {
  find("notice").replaceChildren(...nodes);
  find("notice").hidden = false;
}

function tokenForm(again) {
  const field = make("input", { id: "token", type: "password", autocomplete: "current-password", required: true });
  const send = make("button", { type: "submit" }, "Continue");
  const form = make("form", { class: "token" }, make("label", { for: "token" }, "Token"), field, send);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    token.set(field.value.trim());
    hideNotice();
    again();
  });
  queueMicrotask(() => field.focus());
  return form;
}
