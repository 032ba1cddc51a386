// How does a result leave the page? As the text itself, messages for a model, or a call that makes it again.

import { post, token } from "./api.js";
import { RESERVES, asked, chosen, narrowed, reserved } from "./state.js";

/** What each button copies; a promise, since messages are asked for. */
export const COPIES = {
  prompt: async ({ run, answer }) => {
    const format = answer.payload ? "plain" : run.format;
    return (await post("/v1/context", asked(run, { format, with_question: true }))).prompt;
  },
  text: async ({ answer }) => answer.text,
  messages: async ({ run, answer }) => {
    const isReady = run.format === "messages";
    const ready = isReady ? answer : await post("/v1/context", asked(run, { format: "messages" }));
    return `${JSON.stringify(ready.payload, null, 2)}\n`;
  },
  curl: async ({ run }) => curl(run),
  python: async ({ run, status }) => python(run, status),
  link: async ({ link }) => link,
};

function curl(run) {
  const parts = [
    `curl -sS ${quoted(`${location.origin}/v1/context`)}`,
    "-H 'Content-Type: application/json'",
    ...(token.get() ? ['-H "Authorization: Bearer $BRIMFUL_TOKEN"'] : []),
    `--data-raw ${quoted(JSON.stringify(asked(run)))}`,
  ];
  return `${parts.join(" \\\n  ")}\n`;
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

function python(run, status) {
  const kept = RESERVES.map((name) => `, ${name}=${run[name]}`).join("");
  const budget = reserved(run) ? `brimful.Budget(${run.budget}${kept})` : run.budget;
  const choices = Object.entries({ ...chosen(run), ...narrowed(run) }).map(([name, value]) => `        ${name}=${literal(value)},`);
  return [
    "import brimful",
    "",
    `with brimful.open(${JSON.stringify(status.store)}) as engine:`,
    "    context = engine.context(",
    `        ${JSON.stringify(run.question)},`,
    `        budget=${budget},`,
    ...choices,
    "    )",
    "print(context.text)",
    "",
  ].join("\n");
}

const literal = (value) => (typeof value === "boolean" ? (value ? "True" : "False") : JSON.stringify(value));

/** Put a text that is still being made on the clipboard. */
export async function copy(making) {
  if (navigator.clipboard?.write && globalThis.ClipboardItem) {
    const blob = making.then((text) => new Blob([text], { type: "text/plain" }));
    blob.catch(() => {});
    try {
      await navigator.clipboard.write([new ClipboardItem({ "text/plain": blob })]);
      return;
    } catch (error) {
      await making; // a refusal of the server is the caller's to show
      if (error.name !== "NotAllowedError") throw error;
    }
  }
  legacy(await making);
}

/** Without a secure connection there is only the old way. */
function legacy(text) {
  const area = document.createElement("textarea");
  const held = document.activeElement;
  area.value = text;
  area.className = "hidden";
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  held?.focus();
  if (!done) throw new Error("The browser keeps the clipboard from this page; select the text and copy it by hand.");
}
