// The theme: light, dark, or that of the system; the choice is stored in this browser.

import { byId } from "./dom.js";

const ORDER = ["system", "light", "dark"];
const system = matchMedia("(prefers-color-scheme: dark)");

let chosen = localStorage.getItem("theme") ?? "system";
let notify = () => {};

/** Applies the theme now and on every change; `changed` is called after each change. */
export function start(changed) {
  notify = changed;
  byId("theme").addEventListener("click", () => {
    chosen = ORDER[(ORDER.indexOf(chosen) + 1) % ORDER.length];
    localStorage.setItem("theme", chosen);
    apply();
  });
  system.addEventListener("change", apply);
  apply();
}

function apply() {
  const dark = chosen === "dark" || (chosen === "system" && system.matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  byId("theme").textContent = `Theme: ${chosen}`;
  notify();
}

/** The value of one of the page's colours, e.g. `colour("--text")`. */
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
