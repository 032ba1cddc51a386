// What does a key do when nobody is typing?

import { hasKeys } from "./help.js";
import { isOpen } from "./dialog.js";

/** Call the action of a single key, unless a field has the focus, a dialog is open, or keys are off. */
export function listen(actions) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || isOpen() || !hasKeys()) return;
    const on = event.target;
    if (on.closest?.("input, select, textarea")) return;
    if (event.key === "Enter" && on.localName !== "article") return;
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}
