// What was captured, and has it been condensed?

import { get, post } from "./api.js";
import { refusal, show } from "./dialog.js";
import { button, make, named, size } from "./dom.js";

/** The captures with a form for another; `changed()` is called when the corpus has one more document. */
export async function openCaptures({ changed }) {
  const outcome = make("div", { id: "capture-outcome", role: "status" });
  const list = make("div", { id: "capture-list" }, make("p", { class: "aside" }, "Reading the captures"));
  show("Captures",
    make("p", {}, "A captured text is condensed and becomes a document that questions find; the original is kept."),
    form((text, name) => act(() => post("/v1/captures", { text, name: name || null }), { list, outcome, changed })),
    outcome, list);
  await refresh(list, { outcome, changed });
}

function form(send) {
  const name = make("input", { id: "capture-name", autocomplete: "off", spellcheck: "false" });
  const text = make("textarea", { id: "capture-text", rows: "5", required: true });
  const button = make("button", { type: "submit", class: "strong" }, "Capture");
  const made = make("form", { class: "capture" },
    make("label", { for: "capture-text" }, "Text"), text,
    make("label", { for: "capture-name" }, "Name (optional)"), name, button);
  made.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!text.value.trim()) return;
    button.disabled = true;
    if (await send(text.value, name.value.trim())) text.value = name.value = "";
    button.disabled = false;
  });
  return made;
}

async function act(request, { list, outcome, changed }) {
  outcome.replaceChildren(make("p", { class: "aside" }, "Condensing"));
  try {
    const capture = await request();
    const feeling = capture.status === "done" ? "good" : "bad";
    outcome.replaceChildren(make("p", { class: feeling }, `${named(capture.name)}: ${capture.status}`));
    await refresh(list, { outcome, changed });
    changed();
    return true;
  } catch (error) {
    outcome.replaceChildren(refusal(error));
    return false;
  }
}

async function refresh(list, more) {
  try {
    const { captures } = await get("/v1/captures");
    list.replaceChildren(
      captures.length
        ? make("ul", { class: "captures" }, captures.map((capture) => row(capture, { list, ...more })))
        : make("p", { class: "aside" }, "Nothing has been captured yet."));
  } catch (error) {
    list.replaceChildren(refusal(error));
  }
}

function row(capture, more) {
  const again = () => act(() => post("/v1/captures/retry", { name: capture.name }), more);
  return make("li", {},
    make("p", { class: "capture-head" },
      make("b", { class: "path" }, named(capture.name)),
      make("span", { class: `status status-${capture.status}` }, capture.status),
      make("span", { class: "aside" }, `${size(capture.original_bytes)}, ${capture.model}`),
      capture.status !== "done" && button("Retry", again, { "aria-label": `Retry ${named(capture.name)}` })),
    (capture.message || capture.digest) && make("p", { class: "capture-text" }, capture.message || capture.digest));
}
