// How does the page speak with the server, and what does it make of a refusal?

import { thisTab } from "./kept.js";

const TOKEN = "brimful.token";

/** A refusal: the server's problem+json, or what stands for it when there was no answer. */
export class Problem extends Error {
  constructor({ title, detail, status = 0, code = "", remedy = "" }) {
    super(detail || title);
    Object.assign(this, { title, detail, status, code, remedy });
  }
}

export const token = {
  get: () => thisTab.get(TOKEN) || "",
  set: (value) => thisTab.set(TOKEN, value),
};

export const get = (path, options) => send("GET", path, undefined, options);
export const post = (path, body, options) => send("POST", path, body, options);

async function send(method, path, body, { signal } = {}) {
  const headers = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (token.get()) headers.Authorization = `Bearer ${token.get()}`;
  let response;
  try {
    response = await fetch(path, { method, headers, signal, body: body && JSON.stringify(body) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({
      title: "The server does not answer",
      detail: `No answer from ${location.host}.`,
      remedy: "Start it again with `brimful serve`, then ask again.",
    });
  }
  const given = await response.json().catch(() => null);
  if (response.ok && given !== null) return given;
  throw problem(response, given);
}

function problem(response, given) {
  const known = given && typeof given === "object" ? given : {};
  return new Problem({
    title: known.title || `The server answered ${response.status}`,
    detail: known.detail || "",
    status: response.status,
    code: known.code || "",
    remedy: known.remedy || "",
  });
}

/** Runs one request at a time: a newer one drops the older, whose answer is never seen. */
export class Latest {
  #controller = null;

  async run(ask) {
    this.#controller?.abort();
    const controller = new AbortController();
    this.#controller = controller;
    try {
      const answer = await ask(controller.signal);
      if (controller.signal.aborted) return null;
      return answer;
    } catch (error) {
      if (controller.signal.aborted) return null;
      throw error;
    }
  }

  stop() {
    this.#controller?.abort();
  }
}
