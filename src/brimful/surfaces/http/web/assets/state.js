// What is asked, with which settings? All of it stands in the address, behind the `#`, where no server log sees it.

export const RESERVES = ["reserved_system", "reserved_query", "reserved_response"];
export const CHOICES = ["sizing", "strategy", "packing", "fill", "format", "model"];
/** Which documents may answer; several texts of one stand behind each other with `;` between them. */
export const FILTERS = ["path", "not_path", "kind", "after", "before", "phrase", "without"];
export const SWITCHES = ["operators", "repair", "priors", "anyway"];
const ALONE = ["after", "before"];
const KNOBS = ["budget", ...RESERVES, ...CHOICES, ...FILTERS, ...SWITCHES];

/** What the settings are until somebody turns a knob; the server's own word replaces this at the start. */
export const DEFAULTS = {
  budget: 4000,
  reserved_system: 0,
  reserved_query: 0,
  reserved_response: 0,
  sizing: "field",
  strategy: "adjacent",
  packing: "greedy",
  fill: "brim",
  format: "plain",
  model: "o200k_base",
  ...Object.fromEntries(FILTERS.map((name) => [name, ""])),
  operators: false,
  repair: true,
  priors: true,
  anyway: false,
};

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
export const differences = (one, other) => ["question", ...KNOBS].filter((name) => one[name] !== other[name]);

/** What the call keeps for itself. */
export const reserved = (run) => RESERVES.reduce((sum, name) => sum + run[name], 0);

/** The filters and switches that are not as they are by default, as the server takes them. */
export function narrowed(run) {
  const filters = FILTERS.filter((name) => run[name].trim()).map((name) => [name, texts(name, run[name])]);
  const switches = SWITCHES.filter((name) => run[name] !== DEFAULTS[name]).map((name) => [name, run[name]]);
  return Object.fromEntries([...filters, ...switches]);
}

const texts = (name, value) =>
  ALONE.includes(name) ? value.trim() : value.split(";").map((each) => each.trim()).filter(Boolean);

/** The body of a request for this run. */
export function asked(run, more = {}) {
  const kept = Object.fromEntries(RESERVES.map((name) => [name, run[name]]));
  const budget = reserved(run) ? { total: run.budget, ...kept } : run.budget;
  const choices = Object.fromEntries(CHOICES.map((name) => [name, run[name]]));
  return { question: run.question, budget, ...choices, ...narrowed(run), ...more };
}

function part(given, prefix) {
  const found = {};
  if (given.has(`${prefix}q`)) found.question = given.get(`${prefix}q`);
  for (const name of KNOBS) {
    const value = given.get(prefix + name);
    if (value === null || value === "") continue;
    if (SWITCHES.includes(name)) found[name] = value === "true";
    else found[name] = CHOICES.includes(name) || FILTERS.includes(name) ? value : whole(value, DEFAULTS[name]);
  }
  return found;
}

const whole = (value, otherwise) => (/^[0-9]{1,12}$/.test(value) ? Number(value) : otherwise);

function put(parameters, prefix, run) {
  if (run.question || prefix) parameters.set(`${prefix}q`, run.question);
  for (const name of KNOBS) {
    if (run[name] !== DEFAULTS[name]) parameters.set(prefix + name, String(run[name]));
  }
}
