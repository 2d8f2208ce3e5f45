// The durations of recoveries: a table of means over the repeats, with a bar of the phases of each row.

import { make, scrolling, table } from "../../core/dom.js";
import { latency, params } from "../../core/format.js";
import { interval } from "../../core/metrics.js";

/** @typedef {import("../../core/api.js").Schemas["ComparedRow"]} Row */
/** @typedef {import("../../core/looks.js").Look} Look */

/**
 * A card with the rows of a comparison that have completed or unfinished recoveries; null if there are none.
 *
 * @param {Row[]} rows
 * @param {Map<string, Look>} looks the style of each run by its id
 */
export function recoveries(rows, looks) {
  const recovered = rows.filter((row) => row.recovery_time || row.recoveries_interrupted || row.not_recovered);
  if (!recovered.length) return null;
  const phases = [...new Set(recovered.flatMap((row) => Object.keys(row.recovery_phases)))];
  const longest = Math.max(...recovered.map((row) => mean(row) ?? 0));
  const headings = ["", "total", ...phases, "phases"];
  const found = table(
    headings,
    recovered.map((row) => cells(row, phases, longest, looks)),
  );
  found.id = "recoveries";
  // The samples of the phases have the shades of the bars. The first column has names, the next the total.
  [...found.querySelectorAll("th")]
    .slice(2, -1)
    .forEach((heading, at) =>
      heading.prepend(make("span", { class: `phase-sample phase-${at}`, "aria-hidden": "true" })),
    );
  return make(
    "section",
    { class: "card" },
    make(
      "h2",
      {},
      "Recoveries of switches ",
      make("span", { class: "unit" }, "the longest of each run, mean over repeats"),
    ),
    scrolling("Recoveries of switches", found),
  );
}

/** @param {Row} row @returns {number | undefined} */
function mean(row) {
  return /** @type {any} */ (row).recovery_time?.mean;
}

/** @param {Row} row @param {string[]} phases @param {number} longest @param {Map<string, Look>} looks */
function cells(row, phases, longest, looks) {
  const point = params({ ...row.params, ...row.settings });
  return [
    make("td", { class: "strong" }, `${row.scheme}${point ? ` · ${point}` : ""}`),
    whole(row),
    ...phases.map((name) => time(row.recovery_phases[name])),
    make("td", {}, bar(row, phases, longest, looks.get(row.runs[0]))),
  ];
}

/** The duration, and the numbers of unfinished recoveries. @param {Row} row */
function whole(row) {
  const total = /** @type {any} */ (row).recovery_time;
  const cell = total ? time(total) : make("td", {});
  if (row.recoveries_interrupted)
    cell.append(make("small", {}, `${row.recoveries_interrupted} interrupted, recovered by the next`));
  if (row.not_recovered) {
    const often = row.runs.length > 1 || row.not_recovered > 1;
    const times = often ? ` (${row.not_recovered} times in ${row.runs.length} runs)` : "";
    cell.append(make("small", { class: "bad" }, `not recovered by the end${times}`));
  }
  return cell;
}

/** A mean in seconds and, below it, the half width of its 95% confidence interval. @param {any} value */
function time(value) {
  return interval(value, (seconds) => latency(seconds == null ? null : 1e6 * seconds));
}

/**
 * The phases as adjacent bars; the width of each is proportional to its duration.
 *
 * @param {Row} row
 * @param {string[]} phases
 * @param {number} longest
 * @param {Look | undefined} look
 */
function bar(row, phases, longest, look) {
  const whole = make("div", { class: "phases", role: "img", "aria-label": "phases of the recovery" });
  phases.forEach((name, at) => {
    const seconds = row.recovery_phases[name]?.mean ?? 0;
    const part = make("span", { title: `${name}: ${seconds} s`, class: `phase-${at}` });
    part.style.background = look?.bar.color ?? "";
    part.style.width = `${longest ? (100 * seconds) / longest : 0}%`;
    whole.append(part);
  });
  return whole;
}
