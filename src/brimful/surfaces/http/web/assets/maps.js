// Where in each document do its windows lie?

import { button, find, make, named, number, place, plural, size } from "./dom.js";

/** One row a document, in reading order: a strip as long as the document, with its windows and the runner-ups. */
export function showMaps(answer, { pinned, go }) {
  const documents = new Map();
  const of = (path) => {
    if (!documents.has(path)) documents.set(path, { windows: [], omitted: [], before: [] });
    return documents.get(path);
  };
  for (const window of answer.windows) of(window.path).windows.push(window);
  for (const window of pinned?.windows || []) of(window.path).before.push(window);
  for (const each of answer.omitted) documents.get(each.path)?.omitted.push(each);
  const length = new Map([...(pinned?.windows || []), ...answer.windows].map((window) => [window.path, window.length]));
  const rows = [...documents].map(([path, found]) => row(path, length.get(path) || 1, found, { pinned, go }));
  find("maps").replaceChildren(...rows);
  find("maps-section").hidden = documents.size === 0;
}

function row(path, bytes, { windows, omitted, before }, { pinned, go }) {
  const shown = windows.reduce((sum, window) => sum + window.end - window.start, 0);
  const share = Math.round((100 * shown) / bytes);
  const said = windows.length
    ? `${plural(windows.length, "window")} at ${windows.map(place).join(", ")}; ${share} % of ${size(bytes)}`
    : `only in the pinned run; ${size(bytes)}`;
  const strip = make("div", { class: "strip", role: "img", "aria-label": said });
  for (const each of omitted) strip.append(stretch(each, bytes, "out"));
  for (const window of windows) strip.append(stretch(window, bytes, "in", () => go(window)));
  const rows = [strip];
  if (pinned) {
    const earlier = `pinned: ${plural(before.length, "window")}`;
    const other = make("div", { class: "strip strip-before", role: "img", "aria-label": earlier });
    for (const window of before) other.append(stretch(window, bytes, "before"));
    rows.push(other);
  }
  return make("li", {},
    make("p", { class: "map-head" },
      button(make("bdi", { dir: "ltr" }, named(path)), () => go(windows[0]), { class: "plain path", title: named(path), disabled: !windows.length }),
      make("span", { class: "share" }, windows.length ? `${number(share)} %` : "–")),
    ...rows);
}

function stretch({ start, end }, bytes, kind, onclick) {
  const mark = make("span", { class: `stretch stretch-${kind}`, onclick });
  mark.style.left = `${(100 * start) / bytes}%`;
  mark.style.width = `${(100 * (end - start)) / bytes}%`;
  return mark;
}
