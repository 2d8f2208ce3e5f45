// The newest groups of runs, for views that need runs and have none.

import { get } from "../core/api.js";
import { make, swatch } from "../core/dom.js";
import { moment } from "../core/format.js";
import { lookOf } from "../core/looks.js";
import * as router from "../core/router.js";

/** @typedef {import("../core/api.js").Schemas} Schemas */

const RUNS = 200;
const GROUPS = 12;

/**
 * A list of links to a view of each of the newest groups.
 *
 * @param {string} view
 * @param {(runs: Schemas["RunHead"][]) => boolean} [fits] whether the view can show these runs
 */
export async function newest(view, fits = () => true) {
  const { runs } = /** @type {Schemas["Runs"]} */ (await get("/runs", { limit: RUNS }));
  /** @type {Map<string, Schemas["RunHead"][]>} */
  const groups = new Map();
  for (const run of runs) groups.set(run.group, [run, ...(groups.get(run.group) ?? [])]);
  const found = [...groups.values()].filter(fits).slice(0, GROUPS);
  if (!found.length)
    return make(
      "p",
      { class: "empty" },
      "No run is stored yet. ",
      make("a", { href: router.link(["scenarios"]) }, "Run a scenario"),
      " or type ",
      make("code", {}, "netkv scenario run quickstart"),
      ".",
    );
  return make("ul", { class: "plain newest" }, ...found.map((own) => item(own, view)));
}

/** @param {Schemas["RunHead"][]} runs @param {string} view */
function item(runs, view) {
  const schemes = [...new Set(runs.map((run) => run.scheme))];
  return make(
    "li",
    {},
    make("a", { href: router.link([view], { run: runs.map((run) => run.id) }) }, runs[0].title || runs[0].scenario),
    make(
      "span",
      { class: "hint" },
      `${runs.length} ${runs.length === 1 ? "run" : "runs"} · ${moment(runs[0].started_at)}`,
    ),
    make(
      "span",
      { class: "run-schemes" },
      ...schemes.map((scheme) => make("span", { class: "run-scheme" }, swatch(lookOf(scheme)), scheme)),
    ),
  );
}
