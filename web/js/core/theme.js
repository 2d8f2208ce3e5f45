// The theme: light, dark, or that of the system; the choice is stored in this browser.

import { byId } from "./dom.js";

const ORDER = ["system", "light", "dark"];
const system = matchMedia("(prefers-color-scheme: dark)");

let chosen = localStorage.getItem("theme") ?? "system";
/** @type {Set<() => void>} */
const listeners = new Set();

/** Applies the theme, and offers the choice. */
export function start() {
  byId("theme").addEventListener("click", () => {
    chosen = ORDER[(ORDER.indexOf(chosen) + 1) % ORDER.length];
    localStorage.setItem("theme", chosen);
    apply();
  });
  system.addEventListener("change", apply);
  apply();
}

/**
 * Calls `listener` after each change of the theme.
 *
 * @param {() => void} listener
 * @returns {() => void} ends it
 */
export function watch(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function apply() {
  const dark = chosen === "dark" || (chosen === "system" && system.matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  byId("theme").textContent = `Theme: ${chosen}`;
  for (const each of listeners) each();
}

/** The value of one of the page's colours, e.g. `colour("--text")`. @param {string} name */
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
