// What recoveries of switches took: a table over the repeats, with a bar of the phases of each row.

import { make, swatch, table } from "./dom.js";
import { latency, params } from "./format.js";
import { colourAt } from "./store.js";

/** A table of the rows of a comparison in which a switch recovered, or should have; nothing if there are none. */
export function recoveries(rows) {
  const recovered = rows.filter((row) => row.recovery_time || row.recoveries_interrupted || row.not_recovered);
  if (!recovered.length) return [];
  const phases = [...new Set(recovered.flatMap((row) => Object.keys(row.recovery_phases)))];
  const longest = Math.max(...recovered.map((row) => row.recovery_time?.mean ?? 0));
  const headings = ["recovery of the switch", "takes", ...phases, ""];
  const found = table(headings, recovered.map((row) => cells(row, phases, longest)));
  found.id = "recoveries";
  // A phase has the colour of its bar.
  found.querySelectorAll("th").forEach((heading, at) => {
    if (at > 1 && at < headings.length - 1) heading.prepend(swatch(colourAt(at - 2)));
  });
  return [found];
}

function cells(row, phases, longest) {
  const point = params({ ...row.params, ...row.settings });
  return [
    make("td", { class: "strong" }, `${row.scheme}${point ? ` · ${point}` : ""}`),
    whole(row),
    ...phases.map((name) => time(row.recovery_phases[name])),
    make("td", {}, bar(row, phases, longest)),
  ];
}

/** How long it took, and what came to no end. */
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
  const show = (seconds) => latency(seconds == null ? null : 1e6 * seconds);
  const spread = value?.ci95 == null ? null : make("small", {}, `± ${show(value.ci95)}`);
  return make("td", {}, show(value?.mean), spread);
}

/** The phases one after the other, as wide as they are long. */
function bar(row, phases, longest) {
  const whole = make("div", { class: "phases", role: "img", "aria-label": "phases of the recovery" });
  phases.forEach((name, at) => {
    const seconds = row.recovery_phases[name]?.mean ?? 0;
    const part = make("span", { title: name });
    part.style.background = colourAt(at);
    part.style.width = `${longest ? (100 * seconds) / longest : 0}%`;
    whole.append(part);
  });
  return whole;
}
