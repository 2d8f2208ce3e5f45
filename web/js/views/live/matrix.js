// The planned runs of a job: which have ended, which run, and how far. A click shows the charts of a run.

import { fill, make, swatch } from "../../core/dom.js";
import { params, rate } from "../../core/format.js";
import { lookOf } from "../../core/looks.js";
import { grid } from "./sweep.js";

/** @typedef {import("../../core/api.js").Schemas} Schemas */
/** @typedef {Schemas["Job"]} Job */

/** @param {(id: string) => void} choose */
export function matrix(choose) {
  const element = make("div");
  /** @type {{ button: HTMLButtonElement, name: string, filled: HTMLElement, result: HTMLElement }[]} */
  let cells = [];
  /** Ids of the runs of the cells, once they have begun. @type {(string | undefined)[]} */
  let ids = [];
  let built = "";

  /** @param {Schemas["PlannedCell"][] | Schemas["RunHead"][]} plan */
  function build(plan) {
    cells = plan.map((cell, index) => {
      const name = [cell.scheme, params(cell.params), cell.repeat ? `#${cell.repeat + 1}` : ""]
        .filter(Boolean)
        .join(" · ");
      const filled = make("span", { class: "filled" });
      const result = make("span", { class: "result" });
      const button = make(
        "button",
        { type: "button", id: `cell-${index}`, click: () => choose(/** @type {string} */ (ids[index])) },
        filled,
        make("span", { class: "name" }, swatch(lookOf(cell.scheme)), name),
        result,
      );
      return { button, name, filled, result };
    });
    const buttons = cells.map(({ button }) => button);
    fill(
      element,
      plan.length > 0 &&
        (grid(plan, buttons) ??
          make("div", { class: "matrix", role: "group", "aria-label": "Runs of this job" }, ...buttons)),
    );
  }

  return {
    element,
    clear() {
      built = "";
      fill(element);
    },
    /** @param {Job} job @param {string} shown id of the run whose charts are shown */
    update(job, shown) {
      const plan = job.plan.length ? job.plan : job.runs;
      const runs = new Map(job.runs.map((run) => [keyOf(run), run]));
      // A cell stays the same element when its run begins or ends.
      const key = JSON.stringify([job.id, plan.map(keyOf)]);
      if (key !== built) build(plan);
      built = key;
      ids = plan.map((cell) => runs.get(keyOf(cell))?.id);
      const shares = new Map((job.progress?.runs ?? []).map((each) => [each.index, each.share]));
      cells.forEach(({ button, name, filled, result }, index) => {
        const run = runs.get(keyOf(plan[index]));
        const state = stateOf(run, job);
        const fraction =
          state === "running" ? (shares.get(index) ?? 0) : state === "waiting" || state === "not run" ? 0 : 1;
        button.className = `cell status-${state.replace(" ", "-")}`;
        button.disabled = !run;
        button.title = run?.reason ?? name;
        button.setAttribute("aria-pressed", String(run?.id === shown));
        filled.style.width = `${100 * fraction}%`;
        const text =
          state === "done"
            ? `${rate(/** @type {any} */ (run).throughput_ops)} ops/s`
            : state === "running"
              ? `${Math.floor(100 * fraction)}%`
              : state;
        if (result.textContent !== text) result.textContent = text;
      });
    },
  };
}

/** @param {Schemas["RunHead"] | undefined} run @param {Job} job */
function stateOf(run, job) {
  return run?.status ?? (["done", "failed", "cancelled"].includes(job.state) ? "not run" : "waiting");
}

/** @param {{ scheme: string, params: Record<string, unknown>, repeat: number }} cell */
export function keyOf({ scheme, params: point, repeat }) {
  return JSON.stringify([scheme, Object.entries(point).sort(), repeat]);
}
