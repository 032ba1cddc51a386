// What is asked, with which settings? All of it stands in the address, behind the `#`, where no server log sees it.

export const KNOBS = ["budget", "sizing", "strategy", "packing", "fill", "format", "model"];

/** What the settings are until somebody turns a knob; the server's own word replaces this at the start. */
export const DEFAULTS = {
  budget: 4000,
  sizing: "field",
  strategy: "adjacent",
  packing: "greedy",
  fill: "brim",
  format: "plain",
  model: "o200k_base",
};

const EMPTY = { question: "", ...DEFAULTS };

/** `run` is the present question with its settings, `pinned` the one it is compared with, `root` the state it was seen on. */
export function read(hash) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const run = { ...EMPTY, ...DEFAULTS, ...part(given, "") };
  const pinned = given.has("pin.q") ? { ...EMPTY, ...DEFAULTS, ...part(given, "pin.") } : null;
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

export const same = (one, other) => ["question", ...KNOBS].every((name) => one[name] === other[name]);

/** The knobs in which two runs differ, as text; the question too. */
export function differences(one, other) {
  return ["question", ...KNOBS].filter((name) => one[name] !== other[name]);
}

function part(given, prefix) {
  const found = {};
  if (given.has(`${prefix}q`)) found.question = given.get(`${prefix}q`);
  for (const name of KNOBS) {
    const value = given.get(prefix + name);
    if (value === null || value === "") continue;
    found[name] = name === "budget" ? whole(value) : value;
  }
  return found;
}

function whole(value) {
  return /^[0-9]{1,12}$/.test(value) ? Number(value) : DEFAULTS.budget;
}

function put(parameters, prefix, run) {
  if (run.question || prefix) parameters.set(`${prefix}q`, run.question);
  for (const name of KNOBS) {
    if (run[name] !== DEFAULTS[name]) parameters.set(prefix + name, String(run[name]));
  }
}
