// The charts of one run over time.

import { make } from "../../core/dom.js";
import { count, rate } from "../../core/format.js";
import { lookOf } from "../../core/looks.js";
import { described, isShown, metric } from "../../core/metrics.js";
import { mapped } from "../../core/series.js";
import { Chart } from "../../parts/chart.js";
import { disturbances, warmup } from "../../parts/disturbances.js";
import { DASHES, area, digits, heat, intervals, line } from "../../parts/traces.js";

/** @typedef {import("../../core/api.js").Schemas["RunHead"]} RunHead */
/** @typedef {import("../../core/series.js").Series} Series */
/** @typedef {import("../../parts/choices.js").Choices} Choices */

/** Percentiles with the dash of each: all have the colour of the scheme. */
const PERCENTILES = /** @type {const} */ ([
  ["p50", "solid"],
  ["p95", "dash"],
  ["p99", "dashdot"],
  ["p999", "dot"],
]);
/** Counts of an interval that are errors or repeated work; those that never differ from 0 are left out. */
const COUNTS = ["lost_ops", "retries", "dropped_frames", "refused_writes", "stale_reads", "unknown", "ignored"];

/** All charts; `update` draws those of a run. @param {Choices} choices those of the view */
export function charts(choices) {
  const throughput = new Chart({
    id: "throughput",
    title: "Throughput",
    unit: "operations/s",
    wide: true,
    show: whole,
    choices,
    overTime: true,
  });
  const latency = new Chart({
    id: "latency",
    title: "Latency",
    unit: "ms (logarithmic), from the intended send time",
    show: digits,
    choices,
    overTime: true,
  });
  const hits = new Chart({
    id: "hits",
    title: metric("hit_ratio").label,
    unit: "dotted: predicted",
    meaning: metric("hit_ratio").meaning,
    show: digits,
    choices,
    overTime: true,
  });
  const load = new Chart({
    id: "load",
    title: "Load of servers",
    unit: "operations/s",
    show: whole,
    choices,
    overTime: true,
  });
  const imbalance = new Chart({
    id: "imbalance",
    title: "Load of the busiest server",
    unit: "times the mean",
    show: digits,
    choices,
    overTime: true,
  });
  const control = new Chart({
    id: "control",
    title: metric("control_plane_mib_per_s").label,
    unit: "MiB/s, by switch",
    meaning: metric("control_plane_mib_per_s").meaning,
    show: digits,
    choices,
    overTime: true,
  });
  const passes = new Chart({
    id: "recirculations",
    title: metric("recirculations_per_s").label,
    unit: "packets/s",
    meaning: metric("recirculations_per_s").meaning,
    show: whole,
    choices,
    overTime: true,
  });
  const errors = new Chart({
    id: "counts",
    title: "Losses, drops, retries and refusals",
    unit: "per interval",
    show: whole,
    choices,
    overTime: true,
  });
  const all = [throughput, latency, hits, load, imbalance, control, passes, errors];
  return {
    element: make("div", { class: "charts" }, ...all.map((chart) => chart.element)),
    ids: all.map((chart) => chart.id),
    close: () => all.forEach((chart) => chart.close()),
    /** @param {RunHead} run @param {Series | null} series */
    update(run, series) {
      if (!series) return;
      const x = { title: { text: run.mode === "sim" ? "virtual seconds" : "seconds" } };
      const over = () => {
        const found = disturbances([{ run, series }]);
        return { x, shapes: [...warmup([run]), ...found.shapes] };
      };
      throughput.update(
        () => ({
          ...over(),
          annotations: disturbances([{ run, series }]).annotations,
          traces: answers(run, series),
          y: { rangemode: "tozero", tickformat: "~s" },
        }),
        run.id,
      );
      // Logarithmic: an outage makes the highest percentile a thousand times as long as the median.
      latency.update(() => ({ ...over(), traces: percentiles(run, series), y: { type: "log", nticks: 6 } }), run.id);
      hits.update(() => hitRatio(run, series, over()), run.id);
      load.update(
        () => ({
          traces: heat(intervals(series), series.columns.server_load),
          x,
          y: { title: { text: "server" }, tickformat: "d" },
        }),
        run.id,
      );
      imbalance.update(
        () => ({
          ...over(),
          traces: [line(run.scheme, "busiest / mean", intervals(series), ratios(series))],
          y: { rangemode: "tozero" },
        }),
        run.id,
      );
      control.update(() => ({ ...over(), traces: bandwidths(run, series), y: { rangemode: "tozero" } }), run.id);
      passes.update(
        () => ({
          ...over(),
          traces: recirculations(run, series),
          y: { rangemode: "tozero", tickformat: "~s" },
          empty: isCounted(series) ? "None so far" : "This run did not count them",
        }),
        run.id,
      );
      errors.update(() => ({ ...over(), ...counts(run, series), y: { rangemode: "tozero" } }), run.id);
    },
  };
}

/** @param {unknown} value */
function whole(value) {
  return typeof value === "number" ? rate(value) : String(value);
}

/** Stacked areas: the reads that caches answer, and all other operations. @param {RunHead} run @param {Series} series */
function answers(run, series) {
  const all = /** @type {number[]} */ (series.columns.throughput_ops);
  const hits = /** @type {number[] | undefined} */ (series.columns.hits_ops);
  const part = (
    /** @type {string} */ name,
    /** @type {number[]} */ y,
    /** @type {number} */ opacity,
    /** @type {number[] | undefined} */ below = undefined,
  ) => area(run.scheme, name, intervals(series), y, opacity, below);
  // A run of an older netkv did not count hits by themselves.
  if (!hits || hits.some((value) => value == null) || !isShown("hits_ops", run.scheme))
    return [part("all operations", all, 0.25)];
  return [
    part(
      "other operations",
      all.map((value, at) => value - hits[at]),
      0.15,
      hits,
    ),
    part("reads answered by caches", hits, 0.55),
  ];
}

/** @param {RunHead} run @param {Series} series */
function percentiles(run, series) {
  return PERCENTILES.map(([name, dash]) => {
    const values = series.columns[`latency_${name}_us`];
    const y = mapped(values, "ms", (value) => (value == null ? null : value / 1000));
    return {
      ...line(run.scheme, name === "p999" ? "p99.9" : name, intervals(series), y, dash),
      text: mapped(values, "text", (value) => described(`latency_${name}_us`, value)),
      hovertemplate: "%{text}<extra>%{fullData.name}</extra>",
    };
  });
}

/** @param {RunHead} run @param {Series} series @param {{ x: object, shapes: object[] }} over */
function hitRatio(run, series, over) {
  const shown = isShown("hit_ratio", run.scheme);
  const predicted = /** @type {any} */ (run).predicted_hit_ratio;
  const rule =
    predicted == null
      ? []
      : [
          {
            type: "line",
            xref: "paper",
            x0: 0,
            x1: 1,
            yref: "y",
            y0: predicted,
            y1: predicted,
            line: { color: lookOf(run.scheme).line.color, width: 1.5, dash: "dot" },
          },
        ];
  return {
    ...over,
    shapes: [...over.shapes, ...rule],
    traces: shown ? [line(run.scheme, "hit ratio", intervals(series), series.columns.hit_ratio)] : [],
    y: { range: [0, 1], tickformat: ".0%" },
    empty: `${run.scheme} has no cache`,
  };
}

/** @param {Series} series */
function ratios(series) {
  return series.columns.server_load.map((/** @type {(number | null)[]} */ loads) => {
    const row = loads.filter((each) => each !== null);
    if (row.length < loads.length) return null;
    const total = row.reduce((sum, each) => sum + each, 0);
    return total ? (Math.max(...row) * row.length) / total : null;
  });
}

/** @param {RunHead} run @param {Series} series */
function bandwidths(run, series) {
  const by = series.columns.control_plane_mib_per_s_by_switch;
  const switches = [...new Set(by.flatMap((/** @type {object} */ each) => Object.keys(each)))];
  if (switches.length < 2)
    return [line(run.scheme, "all switches", intervals(series), series.columns.control_plane_mib_per_s)];
  return switches.map((name, at) =>
    line(
      run.scheme,
      name,
      intervals(series),
      by.map((/** @type {Record<string, number>} */ each) => each[name] ?? null),
      DASHES[at % DASHES.length],
    ),
  );
}

/** @param {RunHead} run @param {Series} series */
function recirculations(run, series) {
  const y = series.columns.recirculations_per_s;
  return y?.some(Boolean) ? [line(run.scheme, "recirculated", intervals(series), y)] : [];
}

/** Whether the switches have counted recirculations. @param {Series} series */
function isCounted(series) {
  return series.columns.recirculations_per_s?.some((value) => value != null) ?? false;
}

/** The lines of all counts that differ from 0; those that an older netkv did not count are named. @param {RunHead} run @param {Series} series */
function counts(run, series) {
  const column = (/** @type {string} */ name) => series.columns[name] ?? [];
  const unknown = COUNTS.filter((name) => column(name).length && column(name).every((value) => value == null));
  const traces = COUNTS.filter((name) => column(name).some(Boolean)).map((name, at) => ({
    ...line(run.scheme, metric(name).label, intervals(series), column(name), DASHES[at % DASHES.length]),
    text: mapped(column(name), "text", count),
    hovertemplate: "%{text}<extra>%{fullData.name}</extra>",
  }));
  const notes = unknown.map((name) => `${metric(name).label}: not counted`);
  const blank = notes.map((name) =>
    line(
      run.scheme,
      name,
      intervals(series),
      series.columns.time.map(() => null),
    ),
  );
  return { traces: traces.length ? [...traces, ...blank] : [], empty: ["None so far", ...notes].join(". ") };
}
