// What is asked, with which settings? All of it stands in the address, behind the `#`, where no server log sees it.

export const RESERVES = ["reserved_system", "reserved_query", "reserved_response"];
const ROOM = ["budget", ...RESERVES];

/** The controls by name, as the server describes them, and what each stands at until somebody turns it. */
export const CONTROLS = new Map();
export const DEFAULTS = {};

/** Learn which controls there are. What narrows a question is written as a text, several with `;` between them. */
export function setUp(controls) {
  for (const each of controls.filter(({ name, common }) => common || ROOM.includes(name))) {
    CONTROLS.set(each.name, each);
    DEFAULTS[each.name] = isFilter(each) ? "" : each.default;
  }
}

const isFilter = ({ narrows, kind }) => narrows && kind !== "bool";
const isSwitch = ({ kind }) => kind === "bool";
const isRoom = ({ name }) => ROOM.includes(name);
const names = (keep) => [...CONTROLS.values()].filter(keep).map(({ name }) => name);

/** Which documents may answer; what is on or off; and whatever else is chosen for the answer. */
export const filters = () => names(isFilter);
export const switches = () => names(isSwitch);
export const choices = () => names((each) => !isFilter(each) && !isSwitch(each) && !isRoom(each));

/** `run` is the question with its settings, `pinned` what it is compared with, `root` the state it was seen on. */
export function read(hash) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const run = { question: "", ...DEFAULTS, ...part(given, "") };
  const pinned = given.has("pin.q") ? { question: "", ...DEFAULTS, ...part(given, "pin.") } : null;
  return { run, pinned, root: given.get("root") };
}

/** The reverse: a hash with what differs from the defaults. */
export function write({ run, pinned, root }) {
  const parameters = new URLSearchParams();
  put(parameters, "", run);
  if (pinned) put(parameters, "pin.", pinned);
  if (root) parameters.set("root", root);
  const text = parameters.toString();
  return text ? `#${text}` : "";
}

/** The names in which two runs differ. */
export const differences = (one, other) => ["question", ...CONTROLS.keys()].filter((name) => one[name] !== other[name]);

/** What the call keeps for itself. */
export const reserved = (run) => RESERVES.reduce((sum, name) => sum + run[name], 0);

/** The filters and switches that are not as they are by default, as the server takes them. */
export function narrowed(run) {
  const texts = filters().filter((name) => run[name].trim()).map((name) => [name, written(name, run[name])]);
  const turned = switches().filter((name) => run[name] !== DEFAULTS[name]).map((name) => [name, run[name]]);
  return Object.fromEntries([...texts, ...turned]);
}

const written = (name, value) =>
  CONTROLS.get(name).kind === "texts" ? value.split(";").map((each) => each.trim()).filter(Boolean) : value.trim();

/** The body of a request for this run. */
export function asked(run, more = {}) {
  const kept = Object.fromEntries(RESERVES.map((name) => [name, run[name]]));
  const budget = reserved(run) ? { total: run.budget, ...kept } : run.budget;
  return { question: run.question, budget, ...chosen(run), ...narrowed(run), ...more };
}

/** What is chosen for the answer, whether it was turned or not. */
export const chosen = (run) => Object.fromEntries(choices().map((name) => [name, run[name]]));

function part(given, prefix) {
  const found = {};
  if (given.has(`${prefix}q`)) found.question = given.get(`${prefix}q`);
  for (const [name, { kind }] of CONTROLS) {
    const value = given.get(prefix + name);
    if (value === null || value === "") continue;
    if (kind === "bool") found[name] = value === "true";
    else found[name] = kind === "int" ? whole(value, DEFAULTS[name]) : value;
  }
  return found;
}

const whole = (value, otherwise) => (/^[0-9]{1,12}$/.test(value) ? Number(value) : otherwise);

function put(parameters, prefix, run) {
  if (run.question || prefix) parameters.set(`${prefix}q`, run.question);
  for (const name of CONTROLS.keys()) {
    if (run[name] !== DEFAULTS[name]) parameters.set(prefix + name, String(run[name]));
  }
}
