// The headline numbers of a run: now while it runs, over its measured part afterwards.

import { fill } from "../../core/dom.js";
import { NOTHING, count, latency, rate, share } from "../../core/format.js";
import { isShown } from "../../core/metrics.js";
import { tiles } from "../../parts/tiles.js";

/** @typedef {import("../../core/api.js").Schemas["RunHead"]} RunHead */
/** @typedef {import("../../core/series.js").Series} Series */

/**
 * @param {HTMLElement} place
 * @param {RunHead} run
 * @param {Series | null} series
 */
export function headline(place, run, series) {
  const figures = /** @type {Record<string, any>} */ (run);
  const runs = run.status === "running";
  const at = (/** @type {string} */ name) => series?.columns[name]?.at(-1);
  const sum = (/** @type {string} */ name) =>
    series?.columns[name]?.reduce(
      (total, value, index) => (series.columns.phase[index] === "measure" ? total + (value ?? 0) : total),
      0,
    );
  const lost = runs ? sum("lost_ops") : figures.lost_ops;
  const queued = runs ? 0 : (figures.queued_ops ?? 0) + (figures.unsent_ops ?? 0);
  // Older versions of netkv called a history without operations linearizable.
  const linear = run.linearizable && figures.checked_ops === 0 ? null : run.linearizable;
  const hits = isShown("hit_ratio", run.scheme) ? share(runs ? at("hit_ratio") : figures.hit_ratio) : NOTHING;
  fill(
    place,
    tiles([
      {
        id: "tile-throughput",
        label: "operations/s",
        value: rate(runs ? at("throughput_ops") : figures.throughput_ops),
      },
      { id: "tile-p99", label: "p99 latency", value: latency(runs ? at("latency_p99_us") : run.latency_us.p99) },
      { id: "tile-hits", label: "hit ratio", value: hits },
      ...(queued
        ? [
            {
              id: "tile-queued",
              label: "operations never sent",
              value: count(queued),
              kind: "bad",
              title:
                "They waited when the measured part ended, or found the queue full: neither lost nor in the latency.",
            },
          ]
        : []),
      { id: "tile-lost", label: "lost operations", value: count(lost), kind: lost ? "bad" : "" },
      {
        id: "tile-linearizable",
        label: "linearizable",
        value: linear == null ? (runs ? "at the end" : "unknown") : linear ? "yes" : "no",
        kind: linear == null ? "" : linear ? "good" : "bad",
        title: "Whether the history of all operations is linearizable.",
      },
    ]),
  );
}
