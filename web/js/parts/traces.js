// Traces of charts over time, for runs and labs.

import { lookOf } from "../core/looks.js";
import { colour } from "../core/theme.js";

/** Dashes of lines that are not runs: percentiles, switches, counts, programs. */
export const DASHES = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot"];

/** A value in a table, with at most six digits. @param {unknown} value */
export function digits(value) {
  return typeof value === "number" ? String(Number(value.toPrecision(6))) : String(value);
}

/**
 * A line in the colour of a scheme.
 *
 * @param {string} scheme
 * @param {string} name
 * @param {number[]} x
 * @param {(number | null)[]} y
 * @param {string} [dash]
 */
export function line(scheme, name, x, y, dash = "solid") {
  const { color, width } = lookOf(scheme).line;
  return { type: "scatter", mode: y.length > 1 ? "lines" : "markers", name, x, y, line: { color, width, dash }, marker: { color } };
}

/**
 * A part of stacked areas in the colour of a scheme.
 *
 * @param {string} scheme
 * @param {string} name
 * @param {number[]} x
 * @param {number[]} y
 * @param {number} opacity
 */
export function area(scheme, name, x, y, opacity) {
  const { color } = lookOf(scheme).line;
  return { type: "scatter", mode: "lines", name, x, y, stackgroup: "answers", line: { color, width: 1 }, fillcolor: tint(color, opacity), hovertemplate: `%{y:,.0f}<extra>${name}</extra>` };
}

/**
 * The load of each server over time, as a heat map; nothing without servers.
 *
 * @param {number[]} x
 * @param {number[][]} rows for each interval, the load of each server
 */
export function heat(x, rows) {
  const servers = Math.max(0, ...rows.map((row) => row.length));
  if (!servers) return [];
  const z = Array.from({ length: servers }, (_, server) => rows.map((row) => row[server] ?? null));
  const scale = [[0, colour("--heat-low")], [1, colour("--heat-high")]];
  // plotly uses a minimum only together with a maximum; else small differences would get all colours.
  const zmax = Math.max(1, ...z.flat().map((value) => value ?? 0));
  return [{ type: "heatmap", name: "load of each server", x, y: z.map((_, server) => server), z, zmin: 0, zmax, colorscale: scale, colorbar: { thickness: 10, tickformat: "~s", outlinewidth: 0 }, hovertemplate: "server %{y} at %{x:.1f} s: %{z:,.0f} ops/s<extra></extra>" }];
}

/** A colour with an opacity. @param {string} hex `#rrggbb` @param {number} opacity */
function tint(hex, opacity) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  return `rgba(${r}, ${g}, ${b}, ${opacity})`;
}
