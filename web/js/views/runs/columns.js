// The columns of the table of runs: what can be shown, and the text of each cell.

import { NOTHING, duration, moment } from "../../core/format.js";
import * as metrics from "../../core/metrics.js";

/** @typedef {import("../../core/api.js").Schemas["RunHead"]} RunHead */
/**
 * @typedef {object} Column
 * @property {string} name as in the address
 * @property {string} title
 * @property {string} [sort] name of the order on the server; none: it cannot be sorted
 * @property {boolean} [text] left-aligned
 * @property {(run: RunHead) => string} show
 * @property {(run: RunHead) => unknown} value with all digits
 */

/** Columns without a choice of the user. */
export const USUAL = ["status", "started_at", "throughput_ops", "latency_p99_us", "hit_ratio", "tags", "note"];
/** Columns whose cells can be changed; the table makes them. */
export const EDITED = [
  {
    name: "tags",
    title: "tags",
    text: true,
    show: (/** @type {RunHead} */ run) => run.tags.join(" "),
    value: (/** @type {RunHead} */ run) => run.tags.join(" "),
  },
  {
    name: "note",
    title: "note",
    text: true,
    show: (/** @type {RunHead} */ run) => run.note,
    value: (/** @type {RunHead} */ run) => run.note,
  },
];
const STORED = "runs-columns";

/** @param {string} name @param {string} title @param {(run: RunHead) => string} [show] @param {boolean} [text] @returns {Column} */
function field(name, title, show, text = true) {
  const value = (/** @type {RunHead} */ run) => /** @type {any} */ (run)[name];
  return { name, title, sort: name, text, show: show ?? ((run) => String(value(run) ?? NOTHING)), value };
}

/** @type {Column[]} */
const FIELDS = [
  field("status", "status"),
  field("scenario", "scenario"),
  field("started_at", "started", (run) => moment(run.started_at)),
  field(
    "finished_at",
    "took",
    (run) => (run.finished_at ? duration(run.finished_at - run.started_at) : NOTHING),
    false,
  ),
  field("duration", "measured", (run) => `${Number(run.duration.toPrecision(4))} s`, false),
  field("mode", "mode"),
  field("target", "target"),
  field("repeat", "repeat", (run) => `#${run.repeat + 1}`, false),
  field("seed", "seed", undefined, false),
  field("group", "group"),
  field("id", "id"),
];

/** Headings of comparisons that several metrics have. */
const SHARED = new Set(["stale reads"]);

/** @param {import("../../core/metrics.js").Metric} metric @returns {Column} */
function ofMetric({ name, label, column }) {
  return {
    name,
    title: column && !SHARED.has(column) ? column : label.toLowerCase(),
    sort: name,
    show: (run) => shown(name, run),
    value: (run) => metrics.valueOf(run, name),
  };
}

/** @param {string} name @param {RunHead} run */
function shown(name, run) {
  if (!metrics.isShown(name, run.scheme)) return NOTHING;
  return text(name, metrics.valueOf(run, name));
}

/** A value of a metric as the table shows it. @param {string} name @param {any} value */
export function text(name, value) {
  if (value == null) return NOTHING;
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return String(value.length);
  return metrics.shown(name, value);
}

/**
 * All columns that these runs can have, in the order in which they are shown: swept options first.
 *
 * @param {RunHead[]} runs
 * @returns {Column[]}
 */
export function available(runs) {
  const paths = [...new Set(runs.flatMap((run) => Object.keys(run.params)))];
  const params = paths.map((path) => {
    const value = (/** @type {RunHead} */ run) => run.params[path];
    const show = (/** @type {RunHead} */ run) =>
      value(run) == null ? NOTHING : typeof value(run) === "object" ? JSON.stringify(value(run)) : String(value(run));
    return { name: `param:${path}`, title: path, sort: path, show, value };
  });
  const known = metrics.all().filter(({ name }) => runs.some((run) => metrics.valueOf(run, name) != null));
  return [...FIELDS, ...params, ...known.map(ofMetric), ...EDITED];
}

/**
 * The names of the columns that are shown: those of the address, else the last choice in this browser.
 *
 * @param {string[]} asked
 */
export function chosen(asked) {
  if (asked.length) return asked;
  const stored = localStorage.getItem(STORED);
  return stored ? stored.split(",") : USUAL;
}

/** Keeps a choice for the next visit. @param {string[]} names */
export function keep(names) {
  localStorage.setItem(STORED, names.join(","));
}
