// Traces of charts over time, for runs and labs.

import { lookOf } from "../core/looks.js";
import { mapped } from "../core/series.js";
import { colour } from "../core/theme.js";

/** Dashes of lines that are not runs: percentiles, switches, counts, programs. */
export const DASHES = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot"];

/** A value in a table, with at most six digits. @param {unknown} value */
export function digits(value) {
  return typeof value === "number" ? String(Number(value.toPrecision(6))) : String(value);
}

/** @typedef {{ ends: number[], lengths: number[] }} Intervals of samples: ends and lengths in seconds */

/**
 * A line in the colour of a scheme: a step over each interval.
 *
 * @param {string} scheme
 * @param {string} name
 * @param {Intervals} over
 * @param {(number | null)[]} y
 * @param {string} [dash]
 */
export function line(scheme, name, over, y, dash = "solid") {
  const { color, width } = lookOf(scheme).line;
  return {
    type: "scatter",
    name,
    x: over.ends,
    lengths: over.lengths,
    y,
    line: { color, width, dash },
    marker: { color },
  };
}

/** The intervals of a run. @param {import("../core/series.js").Series} series @returns {Intervals} */
export function intervals({ columns }) {
  return { ends: columns.time, lengths: columns.interval };
}

/**
 * An area in the colour of a scheme, on top of another one: a step over each interval.
 *
 * @param {string} scheme
 * @param {string} name
 * @param {Intervals} over
 * @param {number[]} y
 * @param {number} opacity
 * @param {number[]} [below] the heights of the other one, which must be drawn later
 */
export function area(scheme, name, over, y, opacity, below) {
  const { color } = lookOf(scheme).line;
  // Not plotly's stacks, which are 0 in gaps.
  return {
    type: "scatter",
    name,
    x: over.ends,
    lengths: over.lengths,
    y,
    below,
    fill: "tozeroy",
    line: { color, width: 1 },
    fillcolor: tint(color, opacity),
    text: mapped(y, "rounded", rounded),
    hovertemplate: `%{text}<extra>${name}</extra>`,
  };
}

/** @param {number | null} value */
function rounded(value) {
  return value == null ? "" : Math.round(value).toLocaleString("en");
}

/**
 * The load of each server over time, as a heat map; nothing without servers.
 *
 * @param {Intervals} over
 * @param {(number | null)[][]} rows for each interval, the load of each server
 */
export function heat(over, rows) {
  const servers = Math.max(0, ...rows.map((row) => row.length));
  if (!servers) return [];
  const z = Array.from({ length: servers }, (_, server) => rows.map((row) => row[server] ?? null));
  const scale = [
    [0, colour("--heat-low")],
    [1, colour("--heat-high")],
  ];
  // plotly uses a minimum only together with a maximum; else small differences would get all colours.
  const zmax = Math.max(1, ...z.flat().map((value) => value ?? 0));
  return [
    {
      type: "heatmap",
      name: "load of each server",
      x: over.ends,
      lengths: over.lengths,
      y: z.map((_, server) => server),
      z,
      zmin: 0,
      zmax,
      colorscale: scale,
      colorbar: { thickness: 10, tickformat: "~s", outlinewidth: 0 },
      hovertemplate: "server %{y} at %{x:.1f} s: %{z:,.0f} ops/s<extra></extra>",
    },
  ];
}

/** A colour with an opacity. @param {string} hex `#rrggbb` @param {number} opacity */
function tint(hex, opacity) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  return `rgba(${r}, ${g}, ${b}, ${opacity})`;
}
