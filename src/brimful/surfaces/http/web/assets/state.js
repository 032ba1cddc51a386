// What is asked, with which settings? All of it stands in the address, behind the `#`, where no server log sees it.

export const RESERVES = ["reserved_system", "reserved_query", "reserved_response"];
export const CHOICES = ["sizing", "strategy", "packing", "fill", "format", "model"];
const KNOBS = ["budget", ...RESERVES, ...CHOICES];

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

/** The body of a request for this run. */
export function asked(run, more = {}) {
  const kept = Object.fromEntries(RESERVES.map((name) => [name, run[name]]));
  const budget = reserved(run) ? { total: run.budget, ...kept } : run.budget;
  return { question: run.question, budget, ...Object.fromEntries(CHOICES.map((name) => [name, run[name]])), ...more };
}

function part(given, prefix) {
  const found = {};
  if (given.has(`${prefix}q`)) found.question = given.get(`${prefix}q`);
  for (const name of KNOBS) {
    const value = given.get(prefix + name);
    if (value === null || value === "") continue;
    found[name] = CHOICES.includes(name) ? value : whole(value, DEFAULTS[name]);
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
