// Nothing runs: what can be started, what waits, and what has ended.

import { get, send } from "../../core/api.js";
import { fill, make } from "../../core/dom.js";
import { duration, moment } from "../../core/format.js";
import * as jobs from "../../core/jobs.js";
import * as router from "../../core/router.js";
import { FIRST } from "../../core/scenarios.js";
import { problem } from "../../parts/problem.js";

/** @typedef {import("../../core/api.js").Schemas} Schemas */

/** @typedef {Schemas["ScenarioSummary"][]} Scenarios */

/** @type {Scenarios | null} */
let scenarios = null;
/** @type {Promise<Scenarios> | null} */
let loading = null;
let turn = 0;

/**
 * @param {HTMLElement} place
 * @param {Schemas["Job"] | null} shown the job above, if there is one
 */
export async function nothing(place, shown) {
  const all = jobs.current();
  if (!all) return;
  const ended = all.ended.filter((job) => job.id !== shown?.id).slice(0, 8);
  const draw = (/** @type {Scenarios | null} */ known) => fill(
    place,
    make(
      "section",
      { class: "card", id: "begin" },
      make("h2", {}, shown ? "Start another run" : "Nothing is running"),
      make("div", { class: "offers" }, ...FIRST.map((name) => offer(name, known?.find((each) => each.name === name))), make("a", { class: "button", href: router.link(["scenarios"]) }, known ? `All ${known.length} scenarios` : "All scenarios")),
    ),
    ended.length ? make("section", { class: "card", id: "ended" }, make("h2", {}, "Ended jobs"), make("ul", { class: "plain" }, ...ended.map(line))) : null,
  );
  draw(scenarios);
  if (scenarios) return;
  // With 1,000 stored runs, the server needs a moment to estimate times; the buttons do not wait for that.
  const mine = ++turn;
  try {
    loading ??= /** @type {Promise<Scenarios>} */ (get("/scenarios"));
    scenarios = await loading;
    if (mine === turn) draw(scenarios);
  } catch (error) {
    if (mine === turn) place.append(problem(error));
  } finally {
    loading = null;
  }
}

/** @param {string} name @param {Schemas["ScenarioSummary"]} [scenario] its summary, when it is loaded */
function offer(name, scenario) {
  const start = make("button", { class: "primary", type: "button", id: `start-${name}`, click: () => begin(name, start) }, `Run ${name}`);
  const about = scenario ? `${scenario.schemes.join(", ")} · about ${duration(scenario.wall_seconds)} here (${scenario.wall_seconds_source})` : "…";
  return make(
    "div",
    { class: "offer" },
    make("h3", {}, scenario?.title ?? name),
    make("p", { class: "hint" }, about),
    make("p", { class: "buttons" }, start, make("a", { class: "button", href: router.link(["scenarios", name]) }, "Change it first")),
  );
}

/** @param {string} name @param {HTMLElement} button */
async function begin(name, button) {
  button.setAttribute("disabled", "");
  try {
    await send("POST", "/jobs", { scenario: name });
  } catch (error) {
    button.after(problem(error));
  }
  button.removeAttribute("disabled");
}

/** @param {Schemas["Job"]} job */
function line(job) {
  const how = job.state === "done" && job.ok === false ? "done, but a run failed or a threshold was missed" : job.state;
  return make(
    "li",
    {},
    make("a", { href: router.link(["live", job.id]) }, job.title),
    " ",
    make("span", { class: `state state-${job.state}` }, how),
    " ",
    make("time", { class: "hint", datetime: new Date(1000 * (job.finished_at ?? job.created_at)).toISOString() }, moment(job.finished_at ?? job.created_at)),
    job.error ? make("span", { class: "hint" }, ` ${job.error.split("\n").at(-1)}`) : null,
  );
}
