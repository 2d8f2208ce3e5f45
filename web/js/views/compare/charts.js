// The charts of a comparison: a metric of choice over time, hit ratio, load of servers, latency distribution.

import { make } from "../../core/dom.js";
import { label } from "../../core/format.js";
import { all as allMetrics, described, isShown, metric } from "../../core/metrics.js";
import { mapped } from "../../core/series.js";
import { Chart } from "../../parts/chart.js";
import { disturbances, warmup } from "../../parts/disturbances.js";
import { Choices } from "../../parts/choices.js";

/** @typedef {import("../../core/api.js").Schemas} Schemas */
/** @typedef {Schemas["RunHead"]} RunHead */
/** @typedef {{ run: RunHead, look: import("../../core/looks.js").Look, series: import("../../core/series.js").Series }} Shown */

export const USUAL = "throughput_ops";
/** Traces for which a legend is legible; the table above has the styles as well. */
const LEGEND = 12;

/** @param {(name: string) => void} choose called with the metric that the user selects */
export function charts(choose) {
  const choices = new Choices();
  const over = new Chart({ id: "overlay", title: "Over time", wide: true, choices, overTime: true });
  const hits = new Chart({
    id: "hits",
    title: metric("hit_ratio").label,
    unit: "dotted: predicted",
    meaning: metric("hit_ratio").meaning,
    choices,
    overTime: true,
  });
  const load = new Chart({ id: "load", title: "Load of servers", unit: "operations/s", choices });
  const ccdf = new Chart({
    id: "ccdf",
    title: "Latency",
    unit: "ms; share of operations that took longer",
    wide: true,
    choices,
  });
  const all = [over, hits, load, ccdf];
  const select = make("select", {
    id: "metric",
    "aria-label": "Metric over time",
    change: () => (choices.forgetHeights(over.id), choose(select.value)),
  });
  over.element.querySelector("h2")?.replaceChildren(select);
  return {
    element: make("div", { class: "charts" }, ...all.map((chart) => chart.element)),
    choices,
    close: () => all.forEach((chart) => chart.close()),
    /**
     * @param {Shown[]} shown
     * @param {string} name the metric over time
     * @param {Schemas["LatencyHistogram"][] | null} histograms null: they are being loaded
     * @param {boolean} complete whether the series of all runs are loaded
     */
    update(shown, name, histograms, complete) {
      const runs = shown.map(({ run }) => run);
      options(select, shown, name);
      // Series arrive one after another: the charts are drawn with the first one and with the last one.
      const about = JSON.stringify([name, complete && runs.map((run) => run.id)]);
      const x = {
        title: { text: runs.length && runs.every((run) => run.mode === "sim") ? "virtual seconds" : "seconds" },
      };
      const shades = () =>
        disturbances(shown.map(({ run, series, look }) => ({ run, series, colour: look.line.color })));
      over.update(() => {
        const found = shades();
        return {
          x,
          y: axis(name),
          traces: lines(shown, name),
          shapes: [...warmup(runs), ...found.shapes],
          annotations: found.annotations,
          layout: legend(shown.length),
        };
      }, about);
      const caching = shown.filter(({ run }) => isShown("hit_ratio", run.scheme));
      hits.update(
        () => ({
          x,
          y: { range: [0, 1], tickformat: ".0%" },
          traces: lines(caching, "hit_ratio").filter((trace) => trace.y.some((value) => value != null)),
          shapes: [...warmup(runs), ...shades().shapes, ...predictions(shown)],
          empty: shown.length ? "No caching scheme among these runs" : "",
          layout: legend(0),
        }),
        about,
      );
      load.update(
        () => ({
          traces: loads(shown),
          x: { title: { text: "server" }, tickformat: "d" },
          y: { rangemode: "tozero", tickformat: "~s" },
          layout: { ...legend(0), hovermode: "closest" },
        }),
        about,
      );
      ccdf.update(
        () => ({
          traces: distributions(shown, histograms ?? []),
          x: { type: "log", title: { text: "latency (ms)" } },
          y: { type: "log", tickformat: "~%", dtick: 1 },
          empty: histograms ? "No finished run" : "",
          layout: { ...legend(0), hovermode: "closest" },
        }),
        `${about} ${histograms?.length}`,
      );
    },
  };
}

/** Metrics over time that these runs have. @param {HTMLSelectElement} select @param {Shown[]} shown @param {string} name */
function options(select, shown, name) {
  const has = (/** @type {string} */ each) =>
    each === name || shown.some(({ series }) => series.columns[each]?.some(Boolean));
  const found = allMetrics().filter((each) => each.time && has(each.name));
  const key = found.map((each) => each.name).join();
  if (select.dataset.key !== key) {
    select.dataset.key = key;
    select.replaceChildren(
      ...found.map(({ name: value, label: text, unit }) =>
        make("option", { value }, unit && unit !== "0 to 1" ? `${text} (${unit === "µs" ? "ms" : unit})` : text),
      ),
    );
  }
  select.value = name;
}

/** @param {number} traces */
function legend(traces) {
  return { showlegend: traces > 1 && traces <= LEGEND };
}

/** @param {string} name */
function axis(name) {
  const { unit } = metric(name);
  if (unit === "0 to 1") return { range: [0, 1], tickformat: ".0%" };
  return {
    rangemode: "tozero",
    ...(unit === "µs" ? { ticksuffix: " ms" } : unit === "operations/s" ? { tickformat: "~s" } : {}),
  };
}

/** @param {Shown[]} shown @param {string} name */
function lines(shown, name) {
  const scale = metric(name).unit === "µs" ? 1000 : 1;
  return shown
    .filter(({ series }) => series.columns[name])
    .map(({ run, look, series }) => {
      const values = series.columns[name];
      return {
        type: "scatter",
        name: label(run),
        x: series.columns.time,
        lengths: series.columns.interval,
        y: mapped(values, `1/${scale}`, (value) => (value == null ? null : value / scale)),
        text: mapped(values, name, (value) => described(name, value)),
        hovertemplate: "%{text}<extra>%{fullData.name}</extra>",
        line: look.line,
        marker: look.marker,
      };
    });
}

/** @param {Shown[]} shown */
function predictions(shown) {
  return shown.flatMap(({ run, look }) => {
    const value = /** @type {any} */ (run).predicted_hit_ratio;
    return value == null
      ? []
      : [
          {
            type: "line",
            xref: "paper",
            x0: 0,
            x1: 1,
            yref: "y",
            y0: value,
            y1: value,
            line: { color: look.line.color, width: 1.5, dash: "dot" },
          },
        ];
  });
}

/** Whether the load of servers is known for the whole run; else the newest interval has it. @param {RunHead} run */
export function hasLoads(run) {
  return run.status !== "running" && run.server_load.length > 0;
}

/** Load of each server: in the last interval of a run in progress, else the mean. @param {Shown[]} shown */
function loads(shown) {
  return shown.map(({ run, look, series }) => {
    const y = /** @type {(number | null)[]} */ (
      hasLoads(run) ? run.server_load : (series.columns.server_load?.at(-1) ?? [])
    );
    return {
      type: "bar",
      name: label(run),
      x: y.map((_, index) => index),
      y,
      marker: look.bar,
      hovertemplate: "server %{x}: %{y:,.0f} ops/s<extra>%{fullData.name}</extra>",
    };
  });
}

/** @param {Shown[]} shown @param {Schemas["LatencyHistogram"][]} histograms */
function distributions(shown, histograms) {
  return histograms.flatMap(({ runs, value_us: values, above, count }) => {
    const own = shown.find(({ run }) => runs.includes(run.id));
    if (!own) return [];
    const repeats = runs.length > 1 ? ` (${runs.length} runs)` : "";
    return [
      {
        type: "scatter",
        mode: "lines",
        name: `${label({ ...own.run, repeat: runs.length > 1 ? 0 : own.run.repeat })}${repeats}`,
        x: values.map((value) => value / 1000),
        y: above,
        // A share of 0 has no place on a logarithmic axis.
        line: { ...own.look.line, shape: "hv" },
        text: above.map(
          (share, at) =>
            `${described("latency_p99_us", values[at])}: ${Number((100 * share).toPrecision(3))}% of ${count.toLocaleString("en")} took longer`,
        ),
        hovertemplate: "%{text}<extra>%{fullData.name}</extra>",
      },
    ];
  });
}
