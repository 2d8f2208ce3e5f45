// A bar with the share and the time left.

import { make } from "../core/dom.js";
import { duration } from "../core/format.js";

/**
 * @param {string} what for screen readers
 * @param {number | null} fraction 0 to 1; null if it is not known
 * @param {number | null} [left] seconds
 */
export function progress(what, fraction, left) {
  const percent = fraction == null ? null : Math.floor(100 * Math.min(1, Math.max(0, fraction)));
  const bar = make("progress", { "aria-label": what, max: 100, value: percent });
  const text = percent == null ? "" : `${percent}%${left == null ? "" : ` · ${duration(left)} left`}`;
  return make("div", { class: "progress" }, bar, make("span", { class: "left" }, text));
}
