// The durations of recoveries: a table of means over the repeats, with a bar of the phases of each row.

import { make, table } from "./dom.js";
import { latency, params } from "./format.js";
import { interval } from "./metrics.js";

/**
 * A table of the rows of a comparison with completed or unfinished recoveries; empty if there are none. `looks` has
 * the style of each run by its id.
 */
export function recoveries(rows, looks) {
  const recovered = rows.filter((row) => row.recovery_time || row.recoveries_interrupted || row.not_recovered);
  if (!recovered.length) return [];
  const phases = [...new Set(recovered.flatMap((row) => Object.keys(row.recovery_phases)))];
  const longest = Math.max(...recovered.map((row) => row.recovery_time?.mean ?? 0));
  const headings = ["recovery of the switch", "total", ...phases, ""];
  const found = table(headings, recovered.map((row) => cells(row, phases, longest, looks)));
  found.id = "recoveries";
  // The samples of the phases have the shades of the bars.
  found.querySelectorAll("th").forEach((heading, at) => {
    if (at > 1 && at < headings.length - 1) heading.prepend(make("span", { class: `phase-sample phase-${at - 2}`, "aria-hidden": "true" }));
  });
  return [found];
}

function cells(row, phases, longest, looks) {
  const point = params({ ...row.params, ...row.settings });
  return [
    make("td", { class: "strong" }, `${row.scheme}${point ? ` · ${point}` : ""}`),
    whole(row),
    ...phases.map((name) => time(row.recovery_phases[name])),
    make("td", {}, bar(row, phases, longest, looks.get(row.runs[0]))),
  ];
}

/** The duration, and the numbers of unfinished recoveries. */
function whole(row) {
  const cell = row.recovery_time ? time(row.recovery_time) : make("td", {});
  if (row.recoveries_interrupted) cell.append(make("small", {}, `${row.recoveries_interrupted} interrupted, recovered by the next`));
  if (row.not_recovered) {
    const often = row.runs.length > 1 || row.not_recovered > 1;
    const times = often ? ` (${row.not_recovered} times in ${row.runs.length} runs)` : "";
    cell.append(make("span", { class: "bad" }, `not recovered by the end${times}`));
  }
  return cell;
}

/** A mean in seconds and, below it, the half width of its 95% confidence interval. */
function time(value) {
  return interval(value, (seconds) => latency(seconds == null ? null : 1e6 * seconds));
}

/** The phases as adjacent bars; the width of each is proportional to its duration. */
function bar(row, phases, longest, look) {
  const whole = make("div", { class: "phases", role: "img", "aria-label": "phases of the recovery" });
  phases.forEach((name, at) => {
    const seconds = row.recovery_phases[name]?.mean ?? 0;
    const part = make("span", { title: name, class: `phase-${at}` });
    part.style.background = look.bar.color;
    part.style.width = `${longest ? (100 * seconds) / longest : 0}%`;
    whole.append(part);
  });
  return whole;
}
