// The metrics of runs: names, units and senses, from the table of the server (netkv/metrics).

import { get } from "./api.js";
import { make } from "./dom.js";
import { bandwidth, count, latency, number, rate, share } from "./format.js";

const SHOWN = {
  "operations/s": rate,
  "keys/s": rate,
  "µs": latency,
  s: (seconds) => latency(seconds == null ? null : 1e6 * seconds),
  "MiB/s": bandwidth,
  "0 to 1": share,
};
/** Units that are part of the text of a value. */
const WRITTEN = new Set(["µs", "s", "MiB/s", "0 to 1"]);

let table = null;

/** Loads the table, once, and sets the titles of the charts. */
export async function load() {
  if (table) return;
  table = new Map((await get("/api/v1/metrics")).map((metric) => [metric.name, metric]));
  for (const heading of document.querySelectorAll("[data-metric]")) {
    const { label, unit, meaning } = table.get(heading.dataset.metric);
    heading.title = meaning;
    heading.querySelector(".label").textContent = label;
    const shown = heading.querySelector(".unit");
    if (!shown.textContent && unit !== "0 to 1") shown.textContent = unit;
  }
}

/** Whether a metric is shown for a scheme; for some it is a constant. */
export function isShown(name, scheme) {
  return !table.get(name).not_shown.includes(scheme);
}

/** A value of a metric with its unit, as text. */
export function described(name, value) {
  if (value == null) return "";
  const { unit } = table.get(name);
  const text = (SHOWN[unit] ?? number)(value);
  return unit && !WRITTEN.has(unit) ? `${text} ${unit}` : text;
}

/**
 * The columns of a comparison of these rows: `heading`, and `cell(row)`, which makes a cell. Metrics with one heading
 * are added up; those of single schemes have a column where a row has a value.
 */
export function columns(rows) {
  const found = new Map();
  for (const metric of table.values()) {
    if (!metric.column || (metric.schemes.length && !rows.some((row) => row[metric.name]))) continue;
    if (!found.has(metric.column)) found.set(metric.column, []);
    found.get(metric.column).push(metric);
  }
  return [...found].map(([heading, own]) => ({ heading, cell: (row) => cell(own, row) }));
}

function cell(own, row) {
  const [metric] = own;
  if (metric.repeats === "mean") {
    const value = isShown(metric.name, row.scheme) ? row[metric.name] : null;
    return interval(value, SHOWN[metric.unit] ?? number);
  }
  const counts = own.map(({ name }) => row[name]);
  const total = counts.includes(null) ? null : counts.reduce((sum, each) => sum + each, 0);
  return make("td", { class: total && metric.sense === "zero" ? "bad" : "" }, (SHOWN[metric.unit] ?? count)(total));
}

/** A mean and, below it, the half width of its 95% confidence interval. */
export function interval(value, show, kind = "") {
  const spread = value?.ci95 == null ? null : make("small", {}, `± ${show(value.ci95)}`);
  return make("td", { class: kind }, show(value?.mean), spread);
}
