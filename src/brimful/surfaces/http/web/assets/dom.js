// How does text become part of the page? Only as text nodes: whatever a document holds, nothing of it is markup.

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes (`onclick` and the like are listeners) and children, which are nodes or plain text. */
export function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for a part of a drawing. */
export function draw(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}

/** A button that says something and does something. */
export const button = (words, onclick, more = {}) => make("button", { type: "button", onclick, ...more }, words);

/** What is cited, as a button: the path and the place in it. */
export function citation(window, where, onclick) {
  return make("button", { type: "button", class: "cite", onclick },
    make("span", { class: "path" }, named(window.path)), " ", make("span", { class: "lines" }, where));
}

export const find = (id) => document.getElementById(id);

const WHOLE = new Intl.NumberFormat("en");

/** 12345 as "12,345". */
export const number = (value) => WHOLE.format(value);

/** "1 window", "2 windows". */
export const plural = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;

/** 109754 as "107 KB". */
export function size(bytes) {
  if (bytes < 1024) return plural(bytes, "byte");
  const units = ["KB", "MB", "GB", "TB"];
  let value = bytes / 1024;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

// As in patterns.py: controls, line breaks, and what takes no room (zero-width, direction, tags, selectors, fillers).
const UNSEEN = new RegExp(
  "[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f" +
    "\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb\\u{13430}-\\u{1343f}\\u{16fe4}" +
    "\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}]", "gu");

/** A label with what nobody sees written out, so that no name can pose as another or hide a message. */
export function named(label) {
  return label.replace(UNSEEN, (sign) => {
    const code = sign.codePointAt(0).toString(16);
    return code.length > 4 ? `\\U${code.padStart(8, "0")}` : `\\u${code.padStart(4, "0")}`;
  });
}

/** "bytes 0–671". */
export const bytes = ({ start, end }) => `bytes ${number(start)}–${number(end)}`;

/** "page 3" of a converted document, "lines 3–9" of others, bytes where lines are not known. */
export function place(window) {
  if (window.origins?.length) return named(window.origins.join(", "));
  if (!window.lines) return bytes(window);
  const [first, last] = window.lines;
  return first === last ? `line ${number(first)}` : `lines ${number(first)}–${number(last)}`;
}

/** What stands for a window when two runs are compared, or when it is looked for on the page. */
export const key = (window) => `${window.path}\u0000${window.start}\u0000${window.end}`;
