// The metrics of runs: names, units and senses, from the table of the server (netkv/metrics).

import { get } from "./api.js";
import { make } from "./dom.js";
import { bandwidth, count, latency, number, rate, share } from "./format.js";

/** @type {Record<string, (value: import("./format.js").Value) => string>} */
const SHOWN = {
  "operations/s": rate,
  "keys/s": rate,
  µs: latency,
  s: (/** @type {import("./format.js").Value} */ seconds) => latency(seconds == null ? null : 1e6 * seconds),
  "MiB/s": bandwidth,
  "0 to 1": share,
};
/** Units that are part of the text of a value. */
const WRITTEN = new Set(["µs", "s", "MiB/s", "0 to 1"]);

/** @typedef {import("./api.js").Schemas["MetricInfo"]} Metric */
/** @typedef {Record<string, any>} Row a row of a comparison: metrics by name */

/** @type {Map<string, Metric> | null} */
let table = null;

/** Loads the table, once. */
export async function load() {
  table ??= new Map((await get("/metrics")).map((/** @type {Metric} */ metric) => [metric.name, metric]));
}

/** All metrics, in the order of tables. @returns {Metric[]} */
export function all() {
  return [...(table ?? new Map()).values()];
}

/** A metric by its name. @param {string} name @returns {Metric} */
export function metric(name) {
  const found = table?.get(name);
  if (!found) throw new Error(`There is no metric '${name}'.`);
  return found;
}

/** Whether a metric is shown for a scheme; for some it is a constant. @param {string} name @param {string} scheme */
export function isShown(name, scheme) {
  return !metric(name).not_shown.includes(scheme);
}

/**
 * A metric of a run or of an interval, with all its digits; undefined if it has none. Latencies are in an object.
 *
 * @param {Record<string, any>} row
 * @param {string} name
 * @returns {any}
 */
export function valueOf(row, name) {
  const percentile = name.match(/^latency_(.+)_us$/);
  return percentile ? row.latency_us?.[percentile[1]] : row[name];
}

/** A value of a metric without its unit, as text. @param {string} name @param {number} value */
export function shown(name, value) {
  return (SHOWN[metric(name).unit] ?? (Number.isInteger(value) ? count : number))(value);
}

/** A value of a metric with its unit, as text. @param {string} name @param {import("./format.js").Value} value */
export function described(name, value) {
  if (value == null) return "";
  const { unit } = metric(name);
  const text = shown(name, value);
  return unit && !WRITTEN.has(unit) ? `${text} ${unit}` : text;
}

/**
 * The columns of a comparison of these rows: `heading`, and `cell(row)`, which makes a cell. Metrics with one heading
 * are added up; those of single schemes, and rare ones, have a column where a row has a value.
 *
 * @param {Row[]} rows
 */
export function columns(rows) {
  /** @type {Map<string, Metric[]>} */
  const found = new Map();
  for (const each of all()) {
    if (!each.column || ((each.schemes.length || each.rare) && !rows.some((row) => row[each.name]))) continue;
    found.set(each.column, [...(found.get(each.column) ?? []), each]);
  }
  return [...found].map(([heading, own]) => ({ heading, cell: (/** @type {Row} */ row) => cell(own, row) }));
}

/** @param {Metric[]} own @param {Row} row */
function cell(own, row) {
  const [first] = own;
  if (first.repeats === "mean") {
    const value = isShown(first.name, row.scheme) ? row[first.name] : null;
    return interval(value, SHOWN[first.unit] ?? number);
  }
  const counts = own.map(({ name }) => row[name]);
  const total = counts.includes(null) ? null : counts.reduce((sum, each) => sum + each, 0);
  return make(
    "td",
    { class: total && first.sense === "zero" ? "bad" : "", title: total },
    (SHOWN[first.unit] ?? count)(total),
  );
}

/**
 * A mean and, below it, the half width of its 95% confidence interval.
 *
 * @param {{ mean: number, ci95: number | null } | null | undefined} value
 * @param {(value: import("./format.js").Value) => string} show
 * @param {string} [kind] class of the cell
 */
export function interval(value, show, kind = "") {
  const spread = value?.ci95 == null ? null : make("small", {}, `± ${show(value.ci95)}`);
  // With all digits.
  const title = value && (value.ci95 == null ? value.mean : `${value.mean} ± ${value.ci95}`);
  return make("td", { class: kind, title }, show(value?.mean), spread);
}
