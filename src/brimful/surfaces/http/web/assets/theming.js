// Light, dark, or as the system is?

import { find } from "./dom.js";
import { always } from "./kept.js";

const STORED = "brimful.theme";
const THEMES = { system: "auto", light: "light", dark: "dark" };

const theme = () => (always.get(STORED) in THEMES ? always.get(STORED) : "system");

/** Go to the next of the three. */
export function nextTheme() {
  const names = Object.keys(THEMES);
  const chosen = names[(names.indexOf(theme()) + 1) % names.length];
  always.set(STORED, chosen === "system" ? "" : chosen);
  showTheme();
}

export function showTheme() {
  if (theme() === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme();
  find("theme").textContent = `Theme: ${THEMES[theme()]}`;
}
