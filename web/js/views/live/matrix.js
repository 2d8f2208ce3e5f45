// The planned runs of a job: which have ended, which run, and how far. A click shows the charts of a run.

import { make, swatch } from "../../core/dom.js";
import { params, rate } from "../../core/format.js";
import { lookOf } from "../../core/looks.js";
import { grid } from "./sweep.js";

/** @typedef {import("../../core/api.js").Schemas} Schemas */

/**
 * @param {Schemas["Job"]} job
 * @param {string} shown id of the run whose charts are shown
 * @param {(id: string) => void} choose
 */
export function matrix(job, shown, choose) {
  const plan = job.plan.length ? job.plan : job.runs;
  if (!plan.length) return null;
  const runs = new Map(job.runs.map((run) => [keyOf(run), run]));
  const fractions = new Map((job.progress?.runs ?? []).map((each) => [each.index, each.fraction]));
  const cells = plan.map((cell, index) => {
    const run = runs.get(keyOf(cell));
    const state = run?.status ?? (["done", "failed", "cancelled"].includes(job.state) ? "not run" : "waiting");
    const fraction = state === "running" ? fractions.get(index) ?? 0 : state === "waiting" || state === "not run" ? 0 : 1;
    const point = params(cell.params);
    const result = state === "done" ? `${rate(/** @type {any} */ (run).throughput_ops)} ops/s` : state === "running" ? `${Math.floor(100 * fraction)}%` : state;
    const name = [cell.scheme, point, cell.repeat ? `#${cell.repeat + 1}` : ""].filter(Boolean).join(" · ");
    const fill = make("span", { class: "filled" });
    fill.style.width = `${100 * fraction}%`;
    return make(
      "button",
      { type: "button", id: `cell-${index}`, class: `cell status-${state.replace(" ", "-")}`, disabled: !run, "aria-pressed": String(run?.id === shown), click: () => run && choose(run.id), title: run?.reason ?? name },
      fill,
      make("span", { class: "name" }, swatch(lookOf(cell.scheme)), name),
      make("span", { class: "result" }, result),
    );
  });
  return grid(plan, cells) ?? make("div", { class: "matrix", role: "group", "aria-label": "Runs of this job" }, ...cells);
}

/** @param {{ scheme: string, params: Record<string, unknown>, repeat: number }} cell */
export function keyOf({ scheme, params: point, repeat }) {
  return JSON.stringify([scheme, Object.entries(point).sort(), repeat]);
}
