// Ask, see, understand: the page as a table of contents.

import { Latest, get, post } from "./api.js";
import { Bar, fullness } from "./bar.js";
import { openCaptures } from "./captures.js";
import { Comparison, compare } from "./compare.js";
import { COPIES, copy } from "./copying.js";
import { openCorpus, showCorpusLine } from "./corpus.js";
import * as dialog from "./dialog.js";
import { openDocument } from "./documents.js";
import { button, find, make, named, plural } from "./dom.js";
import { openHelp } from "./help.js";
import { listen } from "./keys.js";
import { Knobs } from "./knobs.js";
import { showMaps } from "./maps.js";
import { hideNotice, refuse, warn } from "./notice.js";
import { openReceipt } from "./receipts.js";
import { Rest } from "./rest.js";
import { DEFAULTS, asked, choices, differences, read, setUp, write } from "./state.js";
import { nextTheme, showTheme } from "./theming.js";
import { Windows } from "./windows.js";

const PAUSE = 40; // milliseconds that a hand must rest on the slider before the server is asked
const CHANGED = "The corpus has changed since this link was made; this is the answer of today.";
const QUIET = 400; // and that an answer must stand before its runner-ups are priced

const state = { run: null, pinned: null, root: null, status: null, answer: null, before: null };
const asking = new Latest();
const pricing = new Latest();
const bar = new Bar();
const windows = new Windows({ open: openWindow });
const rest = new Rest({ enter: (budget) => turn({ budget }, { settled: true }), open: openWindow });
const comparison = new Comparison({ unpin, swap, open: openWindow, go: (window) => windows.go(window) });
const knobs = new Knobs({ turned: turn });
let resting = 0;

// ---- from the address to an answer

async function start() {
  bindAll();
  try {
    state.status = await get("/v1/status");
  } catch (error) {
    return refused(error, start);
  }
  setUp(state.status.controls);
  knobs.setUp(state.status.choices.models);
  showCorpusLine(state.status);
  await arrive();
  document.documentElement.dataset.ready = "yes";
}

/** Show what the address says; also when somebody goes back or forward. */
async function arrive() {
  if (!state.status) return; // the token is being asked for; then it starts again
  const { run, pinned, root } = read(location.hash);
  Object.assign(state, { run, pinned, root, before: null });
  showQuestion(run.question);
  knobs.show(run);
  find("settings").open ||= choices().some((name) => run[name] !== DEFAULTS[name]);
  await assemble();
}

/** A knob was turned: ask again at once, and note it in the address when the hand is off. */
function turn(change, { settled }) {
  if (!state.run) return; // before the server has said what there is
  const run = { ...state.run, ...change };
  const isNew = differences(run, state.run).length > 0;
  state.run = run;
  knobs.show(run);
  if (settled) note();
  if (!isNew || !run.question) return;
  clearTimeout(resting);
  resting = setTimeout(assemble, settled ? 0 : PAUSE);
}

/** Write the state into the address, as a new step of the history if it differs. */
function note() {
  state.root = null;
  const hash = write(state);
  if (hash !== location.hash) history.pushState(null, "", hash || location.pathname);
}

async function assemble() {
  clearTimeout(resting);
  pricing.stop();
  const { run, pinned } = state;
  if (!run.question.trim()) {
    asking.stop();
    return showNothing();
  }
  busy(true);
  try {
    const answers = await asking.run((signal) =>
      Promise.all([
        post("/v1/context", asked(run), { signal }),
        pinned && (state.before || post("/v1/context", asked(pinned), { signal })),
      ]));
    if (!answers) return;
    [state.answer, state.before] = answers;
    busy(false);
    showAnswer();
    price(run);
  } catch (error) {
    if (!state.before) state.pinned = null; // it may be the one that was refused
    refused(error, assemble);
  }
}

/** The budgets of the runner-ups come later: each is found by asking several times. */
async function price(run) {
  if (!state.answer.omitted.length) return;
  await new Promise((resolve) => setTimeout(resolve, QUIET));
  if (run !== state.run) return;
  try {
    const answer = await pricing.run((signal) => post("/v1/context", asked(run, { prices: true }), { signal }));
    if (answer && run === state.run) rest.show(answer);
  } catch {
    // The answer stands without them.
  }
}

// ---- what is shown

function showAnswer() {
  const { answer, before } = state;
  const found = before && compare(before, answer);
  hideNotice();
  find("account").hidden = !answer.windows.length;
  const counts = [plural(answer.windows.length, "window"), plural(paths(answer).size, "document")].join(" from ");
  const counted = `${answer.exact ? "counted exactly" : "estimated"} for ${answer.model}`;
  find("account-title").replaceChildren(`${fullness(answer)}, ${counts}`, make("small", {}, counted));
  bar.show(answer);
  windows.show(answer, found?.changes);
  showMaps(answer, { pinned: before, go: (window) => windows.go(window) });
  rest.show(answer);
  showHeard(answer);
  if (before) comparison.show({ before, now: answer, runs: state, found });
  else comparison.hide();
  find("pin").textContent = before ? "Pin this instead" : "Pin to compare";
  find("empty").replaceChildren(...(answer.windows.length ? [] : nothingFound(answer)));
  say(answer.windows.length ? `${find("account-title").firstChild.data}.` : "Nothing found.");
  document.title = `${named(state.run.question)} · Brimful`;
  if (state.root && state.root !== answer.root) warn(CHANGED);
  document.documentElement.dataset.shown = String(Number(document.documentElement.dataset.shown || 0) + 1);
}

const paths = (answer) => new Set(answer.windows.map((window) => window.path));

function showHeard(answer) {
  const { corrections, relevance } = answer;
  const said = ({ term, word }, at) => [at ? "; " : "Searched for ", make("b", {}, named(term)), ` instead of ${named(word)}`];
  const undo = button("As typed", () => turn({ repair: false }, { settled: true }), { class: "quiet", id: "as-typed" });
  const missing = answer.windows.length && relevance?.missing.length ? make("span", { id: "missing" }, lacks(relevance.missing)) : null;
  find("heard").replaceChildren(
    ...corrections.flatMap(said), ...(corrections.length ? [undo] : []), ...(missing ? [missing] : []));
}

const sentence = (words) => `${words[0].toUpperCase()}${words.slice(1)}.`;

const lacks = (words) => `No document has: ${words.join(", ")}`;

function nothingFound(answer) {
  const [title, hint] = answer.omitted.length
    ? [`Nothing fits in ${plural(answer.budget, "token")}.`, "Raise the budget to let the best window in."]
    : ["Nothing found.", sentence(answer.relevance?.reason || `Not in ${plural(state.status.documents, "document")}`)];
  const near = () => turn({ anyway: true }, { settled: true });
  return [make("h2", {}, title), make("p", {}, hint),
    ...(answer.relevance?.nearest ? [button("Show what is nearest", near, { id: "nearest" })] : [])];
}

function clear() {
  state.answer = null;
  busy(false);
  windows.clear();
  comparison.hide();
  for (const id of ["account", "maps-section", "rest-section", "notice"]) find(id).hidden = true;
  find("heard").replaceChildren();
  find("empty").replaceChildren();
}

function showNothing() {
  clear();
  document.title = "Brimful";
  find("empty").replaceChildren(
    ...(state.status.documents
      ? [make("h2", {}, "What should the model read?"),
         make("p", {}, `You get the passages of ${plural(state.status.documents, "document")} that answer a question, `
           + "as many as fit in the budget. They are for your model to read: nothing here writes an answer."),
         make("p", { id: "example" })]
      : [make("h2", {}, "The store is empty"),
         make("p", {}, "Fill it with ", make("code", {}, "brimful add FOLDER"), ", or capture a text.")]));
  if (state.status.documents) showExample().catch(() => {}); // the page does without one
}

/** A question that this corpus may answer, to be asked by a click: what a document is named after. */
async function showExample() {
  const { documents } = await get("/v1/documents");
  const subjects = documents.map(({ path, title }) => title || path.split("/").pop().replace(/\.\w+$/, "").replace(/[-_.\d]+/g, " "));
  const subject = subjects.map((words) => words.trim()).find((words) => /^[\p{L}\s]{4,40}$/u.test(words) && !/readme|index/i.test(words));
  if (!subject || !find("example")) return;
  const question = `What is said about ${subject}?`;
  find("example").replaceChildren("For example: ", button(question, () => ask(question), { class: "example" }));
}

function ask(question) {
  showQuestion(question);
  find("ask").requestSubmit();
}

function refused(error, again) {
  clear();
  refuse(error, again);
  say("");
}

function busy(isBusy) {
  find("progress").hidden = !isBusy;
  find("windows").setAttribute("aria-busy", String(isBusy));
}

function say(words) {
  find("live").textContent = words;
}

/** Put a question into its field. */
function showQuestion(question) {
  find("question").value = question;
  fitQuestion();
}

/** As many lines as the question has: a traceback is pasted as it is. */
function fitQuestion() {
  const field = find("question");
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight + field.offsetHeight - field.clientHeight}px`;
}

// ---- what can be done

function openWindow(window) {
  openDocument(window);
}

function pin() {
  if (!state.answer) return;
  Object.assign(state, { pinned: { ...state.run }, before: state.answer });
  note();
  showAnswer();
  say("Pinned. Turn a knob to compare.");
}

function unpin() {
  Object.assign(state, { pinned: null, before: null });
  note();
  showAnswer();
  find("pin").focus();
}

function swap() {
  Object.assign(state, { run: state.pinned, pinned: state.run, answer: state.before, before: state.answer });
  showQuestion(state.run.question);
  knobs.show(state.run);
  note();
  showAnswer();
  price(state.run);
  find("swap").focus();
}

async function copied(button) {
  const link = new URL(location.href);
  link.hash = write({ ...state, root: state.answer?.root });
  const words = button.dataset.words ?? button.textContent;
  button.dataset.words = words;
  try {
    await copy(COPIES[button.dataset.copy]({ ...state, link: link.href }));
    button.textContent = "Copied";
    say(`${words} copied.`);
    setTimeout(() => (button.textContent = words), 1400);
  } catch (error) {
    warn(error.message);
  }
}

async function refreshStatus() {
  state.status = await get("/v1/status");
  state.before = null;
  showCorpusLine(state.status);
  await assemble();
}

// ---- wiring, once

let isBound = false;

function bindAll() {
  if (isBound) return;
  isBound = true;
  dialog.setUp();
  find("bar").append(bar.element);
  if (matchMedia("(max-width: 899px)").matches) find("maps-section").open = false;
  find("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    if (!state.run) return;
    state.run = { ...state.run, question: find("question").value.trim() };
    rest.reset();
    note();
    assemble();
  });
  find("question").addEventListener("input", fitQuestion);
  find("question").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    find("ask").requestSubmit();
  });
  addEventListener("resize", fitQuestion);
  find("skip").addEventListener("click", (event) => {
    event.preventDefault();
    find("windows").focus();
  });
  find("pin").addEventListener("click", pin);
  find("receipt-open").addEventListener("click", () => openReceipt(state.answer));
  find("corpus-open").addEventListener("click", () => openCorpus(openWindow));
  find("captures-open").addEventListener("click", () => openCaptures({ changed: refreshStatus }));
  find("help-open").addEventListener("click", openHelp);
  find("theme").addEventListener("click", nextTheme);
  for (const button of document.querySelectorAll("[data-copy]")) button.addEventListener("click", () => copied(button));
  addEventListener("popstate", arrive);
  showTheme();
  listen({
    "/": () => find("question").select(),
    j: () => windows.step(1),
    k: () => windows.step(-1),
    p: pin,
    Enter: () => windows.openHeld(),
    "?": openHelp,
  });
}

start();
