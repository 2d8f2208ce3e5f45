// What disturbed a run, as shapes of a chart: outages of nodes, injected faults, recoveries of
// switches, popularity shifts.

import { colour } from "../core/theme.js";

/** @typedef {import("../core/api.js").Schemas} Schemas */
/** @typedef {{ run: Schemas["RunHead"], series: import("../core/series.js").Series, colour?: string }} Watched */
/** @typedef {[number, number, string]} Band from, to, label */

/** Events that begin and end an outage of a node, which is shaded. */
const DOWN = new Set(["killed", "failed", "stopped", "stopping"]);
const UP = new Set(["started", "ready"]);
/** Names of what overlaps, in the label of a band; with random faults it may be dozens. */
const MAX_NAMED = 2;

/**
 * Shaded bands with labels for outages, faults of links and recoveries, thin lines for popularity shifts and notes.
 *
 * @param {Watched[]} shown
 * @returns {{ shapes: object[], annotations: object[] }}
 */
export function disturbances(shown) {
  /** @type {object[]} */
  const shapes = [];
  /** @type {Band[]} */
  const bands = [];
  /** @type {Band[]} */
  const recovering = [];
  for (const { run, series, colour: line } of shown) {
    const down = new Map();
    const up = new Map();
    const begun = new Map();
    /** @type {Map<number, { time: number, text: string }>} */
    const faults = new Map();
    const end = series.columns.time.at(-1) ?? 0;
    for (const event of series.events) {
      // A fault may be in force from the beginning, or since the warm-up.
      if ((event.time <= 0 && !event.change) || event.time > run.duration + 1) continue;
      if (DOWN.has(event.kind) && event.node !== "rack") {
        if (!down.has(event.node)) down.set(event.node, event.time);
      } else if (UP.has(event.kind) && down.has(event.node)) {
        bands.push([down.get(event.node), event.time, `${event.node} down`]);
        down.delete(event.node);
        if (!up.has(event.node)) up.set(event.node, event.time);
      } else if (event.kind === "recovering") {
        if (!begun.has(event.node)) begun.set(event.node, up.get(event.node) ?? event.time);
      } else if (event.recovery) {
        // If only the controller was down, the recovery has the duration of its phases.
        const seconds = event.recovery.phases.reduce((sum, phase) => sum + phase.seconds, 0);
        recovering.push([up.get(event.node) ?? event.time - seconds, event.time, "recovery"]);
        up.delete(event.node);
        begun.delete(event.node);
      } else if (event.change?.target === "node") {
        continue; // the events of outages follow, and show also the outages that nobody has caused
      } else if (event.change && (event.change.begins != null || event.change.ends.length)) {
        for (const number of event.change.ends) {
          const fault = faults.get(number);
          if (fault) bands.push([fault.time, event.time, fault.text]);
          faults.delete(number);
        }
        if (event.change.begins != null) faults.set(event.change.begins, { time: event.time, text: event.change.what });
      } else if (event.change || event.kind === "note") {
        shapes.push({
          type: "line",
          yref: "paper",
          y0: 0,
          y1: 1,
          x0: event.time,
          x1: event.time,
          line: { color: line ?? colour("--soft"), width: 1, dash: "dot" },
        });
      }
    }
    for (const { time, text } of faults.values()) bands.push([time, end, text]);
    for (const start of begun.values()) recovering.push([start, end, "recovery"]);
    // Every rack is taken down at its end; only earlier outages are shown.
    for (const [node, start] of down)
      if (start < run.duration - Math.min(0.5, run.duration / 20)) bands.push([start, end, `${node} down`]);
  }
  const outages = union(bands);
  const recoveries = union(recovering);
  return {
    shapes: [
      ...outages.map(([from, to]) => band(from, to, colour("--bad"), 0.15)),
      ...recoveries.map(([from, to]) => band(from, to, colour("--warn"), 0.17)),
      ...shapes,
    ],
    annotations: [...outages, ...recoveries].sort((a, b) => a[0] - b[0]).map(name),
  };
}

/** The warm-up of runs, shaded. @param {Schemas["RunHead"][]} runs */
export function warmup(runs) {
  const seconds = Math.max(0, ...runs.map((run) => run.warmup));
  return seconds ? [band(-seconds, 0, colour("--soft"), 0.1)] : [];
}

/** Joins overlapping bands: runs of one scenario have outages at the same times. @param {Band[]} bands @returns {Band[]} */
function union(bands) {
  /** @type {{ from: number, to: number, texts: Set<string> }[]} */
  const joined = [];
  for (const [from, to, text] of bands.sort((a, b) => a[0] - b[0])) {
    const last = joined.at(-1);
    if (last && from <= last.to) {
      last.to = Math.max(last.to, to);
      last.texts.add(text);
    } else joined.push({ from, to, texts: new Set([text]) });
  }
  return joined.map(({ from, to, texts }) => [from, to, listed([...texts])]);
}

/** @param {string[]} texts */
function listed(texts) {
  return texts.length > MAX_NAMED
    ? `${texts.slice(0, MAX_NAMED).join(", ")} and ${texts.length - MAX_NAMED} more`
    : texts.join(", ");
}

/** @param {number} from @param {number} to @param {string} fill @param {number} opacity */
function band(from, to, fill, opacity) {
  return {
    type: "rect",
    yref: "paper",
    y0: 0,
    y1: 1,
    x0: from,
    x1: to,
    fillcolor: fill,
    opacity,
    line: { width: 0 },
    layer: "below",
  };
}

/** A label; three rows below each other, because neighbours would overlap. @param {Band} band @param {number} at */
function name([from, , text], at) {
  return {
    x: from,
    y: 1,
    yref: "paper",
    yshift: -12 * (at % 3),
    xanchor: "left",
    yanchor: "top",
    text,
    showarrow: false,
    font: { size: 11, color: colour("--soft") },
  };
}
