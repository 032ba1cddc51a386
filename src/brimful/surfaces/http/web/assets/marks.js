// Which words of a text were asked for? A text cut at byte places, the matched stretches marked.

import { make } from "./dom.js";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The bytes [start, end) of a text, as text. */
export function cut(text, start, end) {
  return decoder.decode(encoder.encode(text).subarray(start, end));
}

/** Text nodes and marks: `matches` are sorted and apart, in bytes of the document; the text begins at `origin`. */
export function marked(text, matches, origin) {
  const bytes = encoder.encode(text);
  const nodes = [];
  let at = 0;
  for (const match of matches) {
    const [start, end] = [match.start - origin, match.end - origin];
    if (start < at || end > bytes.length) continue;
    if (start > at) nodes.push(decoder.decode(bytes.subarray(at, start)));
    nodes.push(make("mark", {}, decoder.decode(bytes.subarray(start, end))));
    at = end;
  }
  if (at < bytes.length) nodes.push(decoder.decode(bytes.subarray(at)));
  return nodes;
}
