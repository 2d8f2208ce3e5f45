// The runs of a sweep: two swept options as a grid for each scheme, and the results so far over a swept option.

import { fill, make, swatch } from "../../core/dom.js";
import { lookOf, looksOf } from "../../core/looks.js";
import { all as metrics, described, isShown, metric, valueOf as metricOf } from "../../core/metrics.js";
import { Chart } from "../../parts/chart.js";
import { keyOf } from "./matrix.js";

/** @typedef {import("../../core/api.js").Schemas} Schemas */
/** @typedef {Schemas["Job"]} Job */
/** @typedef {Schemas["PlannedCell"] | Schemas["RunHead"]} Cell */

const USUAL = "throughput_ops";
/** Values of an axis that spans more than this are on a logarithmic scale. */
const LOGARITHMIC = 50;

/** The swept options of a plan, each with its values in their order. @param {Cell[]} plan */
function swept(plan) {
  /** @type {Map<string, Map<string, any>>} */
  const found = new Map();
  for (const { params } of plan) {
    for (const [path, value] of Object.entries(params)) {
      const values = found.get(path) ?? new Map();
      values.set(JSON.stringify(value), value);
      found.set(path, values);
    }
  }
  return [...found]
    .map(([path, values]) => ({ path, values: [...values.values()] }))
    .filter(({ values }) => values.length > 1);
}

/**
 * A table for each scheme, if two options are swept; else null.
 *
 * @param {Cell[]} plan
 * @param {HTMLElement[]} buttons of each planned run
 */
export function grid(plan, buttons) {
  const options = swept(plan);
  if (options.length !== 2) return null;
  const [rows, columns] = options;
  const schemes = [...new Set(plan.map(({ scheme }) => scheme))];
  const short = (/** @type {string} */ path) => path.split(".").at(-1);
  const own = (/** @type {string} */ scheme, /** @type {any} */ row, /** @type {any} */ column) =>
    buttons.filter(
      (_, at) =>
        plan[at].scheme === scheme &&
        same(plan[at].params[rows.path], row) &&
        same(plan[at].params[columns.path], column),
    );
  const tables = schemes.map((scheme) =>
    make(
      "table",
      { class: "grid-of-runs" },
      make("caption", {}, swatch(lookOf(scheme)), " ", scheme),
      make(
        "thead",
        {},
        make(
          "tr",
          {},
          make("th", { scope: "col" }, `${short(rows.path)} ↓  ${short(columns.path)} →`),
          ...columns.values.map((value) => make("th", { scope: "col" }, shown(value))),
        ),
      ),
      make(
        "tbody",
        {},
        ...rows.values.map((row) =>
          make(
            "tr",
            {},
            make("th", { scope: "row" }, shown(row)),
            ...columns.values.map((column) => make("td", {}, ...own(scheme, row, column))),
          ),
        ),
      ),
    ),
  );
  return make("div", { class: "grids scroll" }, ...tables);
}

/** @param {any} first @param {any} second */
function same(first, second) {
  return JSON.stringify(first) === JSON.stringify(second);
}

/** @param {any} value */
function shown(value) {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/**
 * The chart of the results so far.
 *
 * @param {import("../../parts/choices.js").Choices} choices those of the view
 * @param {(metric: string) => void} remember keeps the chosen metric in the address
 */
export function results(choices, remember) {
  /** @type {Job | null} */
  let job = null;
  let chosen = USUAL;
  const choose = make("select", {
    id: "sweep-metric",
    "aria-label": "Metric of the chart",
    change: () => (
      choices.forgetHeights("sweep"),
      remember(choose.value === USUAL ? "" : choose.value),
      pick(choose.value)
    ),
  });
  const chart = new Chart({
    id: "sweep",
    title: "Sweep so far",
    unit: "mean of repeats",
    meaning: "A point for each run that has ended.",
    wide: true,
    choices,
    show: (value) => (typeof value === "number" ? described(chosen, value) : String(value ?? "")),
  });
  const tools = chart.element.querySelector(".head");
  tools?.insertBefore(choose, tools.lastElementChild);
  const element = make("div", { id: "sweep-results", hidden: true }, chart.element);

  /** @param {string} name */
  function pick(name) {
    chosen = name;
    if (job) update(job, name);
  }

  /** @param {Job} current @param {string} [wanted] the metric of the address */
  function update(current, wanted) {
    job = current;
    const options = swept(current.plan.length ? current.plan : current.runs);
    element.hidden = !options.length;
    if (!options.length) return;
    const ended = current.runs.filter((run) => run.status === "done");
    const possible = metrics()
      .filter((each) => ended.some((run) => typeof valueOf(run, each.name) === "number"))
      .map((each) => each.name);
    if (!possible.includes(USUAL)) possible.unshift(USUAL);
    chosen = possible.includes(wanted || USUAL) ? wanted || USUAL : USUAL;
    if (choose.childElementCount !== possible.length)
      fill(
        choose,
        ...possible.map((name) => make("option", { value: name, title: metric(name).meaning }, metric(name).label)),
      );
    choose.value = chosen;
    const place = new Map((current.plan.length ? current.plan : current.runs).map((cell, at) => [keyOf(cell), at]));
    ended.sort((a, b) => (place.get(keyOf(a)) ?? 0) - (place.get(keyOf(b)) ?? 0));
    chart.update(() => drawing(ended, options, chosen), `${current.id} ${ended.length} ${chosen}`);
  }

  return { element, update, close: () => chart.close() };
}

/** @param {Schemas["RunHead"]} run @param {string} name */
function valueOf(run, name) {
  const value = metricOf(run, name);
  return typeof value === "boolean" ? Number(value) : value;
}

/**
 * @param {Schemas["RunHead"][]} runs that have ended
 * @param {{ path: string, values: any[] }[]} options swept ones
 * @param {string} name of the metric
 */
function drawing(runs, options, name) {
  // Most values on the axis: fewer lines.
  const [axis, ...others] = [...options].sort((a, b) => b.values.length - a.values.length);
  /** @type {Map<string, { scheme: string, others: Record<string, any>, points: Map<string, number[]>, first: Schemas["RunHead"] }>} */
  const lines = new Map();
  for (const run of runs) {
    const value = valueOf(run, name);
    if (typeof value !== "number" || !isShown(name, run.scheme)) continue;
    const fixed = Object.fromEntries(others.map(({ path }) => [path, run.params[path]]));
    const key = JSON.stringify([run.scheme, fixed]);
    const line = lines.get(key) ?? { scheme: run.scheme, others: fixed, points: new Map(), first: run };
    const at = JSON.stringify(run.params[axis.path]);
    line.points.set(at, [...(line.points.get(at) ?? []), value]);
    lines.set(key, line);
  }
  const all = [...lines.values()];
  const styles = looksOf(all.map(({ first, others: params }) => ({ ...first, params })));
  const numeric = axis.values.every((value) => typeof value === "number");
  const sorted = numeric ? [...axis.values].sort((a, b) => a - b) : axis.values;
  const log = numeric && sorted[0] > 0 && /** @type {number} */ (sorted.at(-1)) / sorted[0] > LOGARITHMIC;
  const x = (/** @type {any} */ value) => (numeric ? value : shown(value));
  const traces = all.map(({ scheme, others: fixed, points, first }) => {
    const there = sorted.filter((value) => points.has(JSON.stringify(value)));
    const y = there.map((value) => mean(points.get(JSON.stringify(value)) ?? []));
    const look = styles.get(first.id) ?? lookOf(scheme);
    const more = Object.entries(fixed)
      .map(([path, value]) => `${path.split(".").at(-1)} ${shown(value)}`)
      .join(", ");
    return {
      type: "scatter",
      mode: "lines+markers",
      name: more ? `${scheme} · ${more}` : scheme,
      x: there.map(x),
      y,
      line: look.line,
      marker: { ...look.marker, color: look.line.color },
      text: y.map((value) => described(name, value)),
      hovertemplate: "%{text}<extra>%{fullData.name}</extra>",
    };
  });
  const { unit } = metric(name);
  return {
    traces,
    // Ticks are exactly at the values that are run.
    x: {
      title: { text: axis.path },
      type: numeric ? (log ? "log" : "linear") : "category",
      ...(numeric
        ? { tickmode: "array", tickvals: sorted, ticktext: sorted.map(String) }
        : { categoryorder: "array", categoryarray: sorted.map(shown) }),
    },
    y: {
      title: { text: unit === "0 to 1" ? "" : unit },
      rangemode: "tozero",
      tickformat: unit === "0 to 1" ? ".0%" : unit === "operations/s" ? "~s" : undefined,
    },
    empty: "No run has ended yet",
  };
}

/** @param {number[]} values */
function mean(values) {
  return values.reduce((sum, each) => sum + each, 0) / values.length;
}
