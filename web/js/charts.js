// The charts. Each is drawn by one Plotly.react, at most once for each frame of the browser.

import { colour } from "./theme.js";
import { label } from "./format.js";
import { looksOf } from "./looks.js";
import { described, isShown } from "./metrics.js";
import { seriesOf } from "./store.js";

const CONFIG = { responsive: true, displaylogo: false, displayModeBar: false };
/** Events that begin and end an outage of a node, which is shaded. */
const DOWN = new Set(["killed", "failed", "stopped", "stopping"]);
const UP = new Set(["started", "ready"]);

let scheduled = false;

/** Draws all charts for these runs (heads, in the order in which they are shown) at the next frame. */
export function schedule(runs) {
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(() => {
    scheduled = false;
    draw(runs());
  });
}

function draw(runs) {
  const looks = looksOf(runs);
  const shown = runs.map((run) => ({ run, look: looks.get(run.id), series: seriesOf(run.id) }));
  const loaded = shown.filter((each) => each.series);
  const shapes = [...warmup(runs), ...disturbances(loaded)];
  const x = { title: { text: runs.length && runs.every((run) => run.mode === "sim") ? "virtual seconds" : "seconds" } };
  // One legend is sufficient: the list and the table show the styles of the runs, too.
  plot("throughput", lines(loaded, "throughput_ops"), {
    shapes,
    x,
    y: { rangemode: "tozero", tickformat: "~s" },
    legend: true,
  });
  const caching = loaded.filter(({ run }) => isShown("hit_ratio", run.scheme));
  const hits = lines(caching, "hit_ratio").filter((trace) => trace.y.some((value) => value != null));
  plot("hits", hits, {
    shapes: [...shapes, ...predictions(loaded)],
    x,
    y: { range: [0, 1], tickformat: ".0%" },
    empty: loaded.length ? "No caching scheme among these runs" : "",
  });
  plot("latency", lines(loaded, "latency_p99_us", milliseconds), {
    shapes,
    x,
    y: { rangemode: "tozero", ticksuffix: " ms" },
  });
  plot("control", lines(loaded, "control_plane_mib_per_s"), {
    shapes,
    x,
    y: { rangemode: "tozero" },
  });
  plot("load", loads(loaded), {
    y: { rangemode: "tozero", tickformat: "~s" },
    x: { title: { text: "server" }, tickformat: "d" },
    bars: true,
  });
}

function lines(shown, metric, scale = (value) => value) {
  return shown.map(({ run, look, series }) => {
    const values = series.columns[metric];
    const y = values.map((value) => (value == null ? null : scale(value)));
    return {
      type: "scatter",
      mode: y.length > 1 ? "lines" : "markers",
      name: label(run),
      x: series.columns.time,
      y,
      text: values.map((value) => described(metric, value)),
      hovertemplate: "%{text}<extra>%{fullData.name}</extra>",
      line: look.line,
      marker: look.marker,
    };
  });
}

function milliseconds(microseconds) {
  return microseconds / 1000;
}

/** Load of each server: in the last interval of a run in progress, else the mean. */
function loads(shown) {
  return shown.map(({ run, look, series }) => {
    const now = series.columns.server_load.at(-1) ?? [];
    const load = run.status === "running" || !run.server_load.length ? now : run.server_load;
    return {
      type: "bar",
      name: label(run),
      x: load.map((_, index) => index),
      y: load,
      marker: look.bar,
      hovertemplate: "server %{x}: %{y:,.0f} ops/s<extra>%{fullData.name}</extra>",
    };
  });
}

function warmup(runs) {
  const seconds = Math.max(0, ...runs.map((run) => run.warmup));
  return seconds ? [band(-seconds, 0, colour("--soft"), 0.1)] : [];
}

function predictions(shown) {
  return shown
    .filter(({ run }) => run.predicted_hit_ratio != null)
    .map(({ run, look }) => ({
      type: "line", xref: "paper", x0: 0, x1: 1, yref: "y",
      y0: run.predicted_hit_ratio, y1: run.predicted_hit_ratio,
      line: { color: look.line.color, width: 1.5, dash: "dot" },
    }));
}

/**
 * Shaded bands for outages of nodes and recoveries of switches; thin lines for popularity shifts and
 * notes.
 */
function disturbances(shown) {
  const shapes = [];
  const bands = [];
  const recovering = [];
  for (const { run, look, series } of shown) {
    const down = new Map();
    const up = new Map();
    const begun = new Map();
    const end = series.columns.time.at(-1) ?? 0;
    for (const event of series.events) {
      if (event.time <= 0 || event.time > run.duration + 1) continue;
      if (DOWN.has(event.kind) && event.node !== "rack") {
        if (!down.has(event.node)) down.set(event.node, event.time);
      } else if (UP.has(event.kind) && down.has(event.node)) {
        bands.push([down.get(event.node), event.time]);
        down.delete(event.node);
        if (!up.has(event.node)) up.set(event.node, event.time);
      } else if (event.kind === "recovering") {
        if (!begun.has(event.node)) begun.set(event.node, up.get(event.node) ?? event.time);
      } else if (event.recovery) {
        // If only the controller was down, the recovery has the duration of its phases.
        const seconds = event.recovery.phases.reduce((sum, phase) => sum + phase.seconds, 0);
        recovering.push([up.get(event.node) ?? event.time - seconds, event.time]);
        up.delete(event.node);
        begun.delete(event.node);
      } else if (event.kind === "shift" || event.kind === "note") {
        shapes.push({ type: "line", yref: "paper", y0: 0, y1: 1, x0: event.time, x1: event.time, line: { color: look.line.color, width: 1, dash: "dot" } });
      }
    }
    for (const start of begun.values()) recovering.push([start, end]);
    // Every rack is taken down at its end; only earlier outages are shown.
    for (const start of down.values()) if (start < run.duration - Math.min(0.5, run.duration / 20)) bands.push([start, end]);
  }
  return [
    ...union(bands).map(([from, to]) => band(from, to, colour("--bad"), 0.15)),
    ...union(recovering).map(([from, to]) => band(from, to, colour("--warn"), 0.17)),
    ...shapes,
  ];
}

/** Joins overlapping bands: runs of one scenario have outages at the same times. */
function union(bands) {
  const joined = [];
  for (const [from, to] of bands.sort((a, b) => a[0] - b[0])) {
    const last = joined.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else joined.push([from, to]);
  }
  return joined;
}

function band(from, to, fill, opacity) {
  return { type: "rect", yref: "paper", y0: 0, y1: 1, x0: from, x1: to, fillcolor: fill, opacity, line: { width: 0 }, layer: "below" };
}

function plot(id, traces, { shapes = [], x = {}, y = {}, bars = false, legend = false, empty = "" }) {
  const text = colour("--soft");
  const axis = { gridcolor: colour("--line"), zeroline: false, automargin: true, fixedrange: false };
  const layout = {
    margin: { l: 50, r: 12, t: 8, b: 36 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: text, size: 12, family: "inherit" },
    hovermode: bars ? "closest" : "x unified",
    hoverlabel: { bgcolor: colour("--card"), bordercolor: colour("--line"), font: { color: colour("--text") } },
    showlegend: legend && traces.length > 1,
    legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: { color: colour("--text") } },
    barmode: "group",
    bargap: 0.25,
    xaxis: { ...axis, showgrid: false, ...x },
    yaxis: { ...axis, ...y },
    shapes: traces.length ? shapes : [],
    annotations: traces.length || !empty ? [] : [{ text: empty, showarrow: false, xref: "paper", yref: "paper", x: 0.5, y: 0.5 }],
    // The zoom is kept when new points arrive.
    uirevision: id,
  };
  window.Plotly.react(id, traces, layout, CONFIG);
}
