// Nothing runs: what can be started, what waits, and what has ended.

import { get, send } from "../../core/api.js";
import { fill, make } from "../../core/dom.js";
import { duration, moment } from "../../core/format.js";
import * as jobs from "../../core/jobs.js";
import { afterPress } from "../../core/press.js";
import * as router from "../../core/router.js";
import { FIRST } from "../../core/scenarios.js";
import { problem } from "../../parts/problem.js";

/** @typedef {import("../../core/api.js").Schemas} Schemas */
/** @typedef {Schemas["Job"]} Job */
/** @typedef {Schemas["ScenarioSummary"][]} Scenarios */

/** @type {Scenarios | null} */
let scenarios = null;
/** @type {Promise<Scenarios> | null} */
let loading = null;

export function nothing() {
  // Made once, so that no update in the middle of a click on one of its buttons loses that click.
  const title = make("h2");
  const offers = FIRST.map(offer);
  const everything = make("a", { class: "button", href: router.link(["scenarios"]) }, "All scenarios");
  const failure = make("div");
  const ended = make("ul", { class: "plain" });
  const endedCard = make("section", { class: "card", id: "ended" }, make("h2", {}, "Ended jobs"), ended);
  const element = make(
    "div",
    { class: "stack", hidden: true },
    make(
      "section",
      { class: "card", id: "begin" },
      title,
      make("div", { class: "offers" }, ...offers.map(({ element }) => element), everything),
      failure,
    ),
    endedCard,
  );

  /** @type {Job[]} */
  let others = [];
  const drawEnded = () => fill(ended, ...others.map(line));

  async function load() {
    // With 1,000 stored runs, the server needs a moment to estimate times; the buttons do not wait for that.
    try {
      loading ??= /** @type {Promise<Scenarios>} */ (get("/scenarios"));
      scenarios = await loading;
      fill(failure);
      describe(scenarios);
    } catch (error) {
      fill(failure, problem(error));
    } finally {
      loading = null;
    }
  }

  /** @param {Scenarios} known */
  function describe(known) {
    for (const each of offers) each.describe(known.find(({ name }) => name === each.name));
    everything.textContent = `All ${known.length} scenarios`;
  }

  if (scenarios) describe(scenarios);
  return {
    element,
    /** @param {Job | null} shown the job above, if there is one */
    update(shown) {
      const all = jobs.current();
      if (!all) return;
      title.textContent = shown ? "Start another run" : "Nothing is running";
      others = all.ended.filter((job) => job.id !== shown?.id).slice(0, 8);
      endedCard.hidden = others.length === 0;
      afterPress(drawEnded);
      if (!scenarios) load();
    },
  };
}

/** @param {string} name of a scenario */
function offer(name) {
  const title = make("h3", {}, name);
  const about = make("p", { class: "hint" }, "…");
  const failure = make("div");
  const start = make(
    "button",
    { class: "primary", type: "button", id: `start-${name}`, click: () => begin(name, start, failure) },
    `Run ${name}`,
  );
  const change = make("a", { class: "button", href: router.link(["scenarios", name]) }, "Change it first");
  return {
    name,
    element: make("div", { class: "offer" }, title, about, make("p", { class: "buttons" }, start, change), failure),
    /** @param {Scenarios[number]} [scenario] its summary */
    describe(scenario) {
      if (!scenario) return;
      title.textContent = scenario.title;
      about.textContent = `${scenario.schemes.join(", ")} · about ${duration(scenario.wall_seconds)} here (${scenario.wall_seconds_source})`;
    },
  };
}

/** @param {string} name @param {HTMLButtonElement} button @param {HTMLElement} failure place for what went wrong */
async function begin(name, button, failure) {
  button.disabled = true;
  fill(failure);
  try {
    await send("POST", "/jobs", { scenario: name });
  } catch (error) {
    fill(failure, problem(error));
  }
  button.disabled = false;
}

/** @param {Job} job */
function line(job) {
  const how = job.state === "done" && job.ok === false ? "done, but a run failed or a threshold was missed" : job.state;
  return make(
    "li",
    {},
    make("a", { href: router.link(["live", job.id]) }, job.title),
    " ",
    make("span", { class: `state state-${job.state}` }, how),
    " ",
    make(
      "time",
      { class: "hint", datetime: new Date(1000 * (job.finished_at ?? job.created_at)).toISOString() },
      moment(job.finished_at ?? job.created_at),
    ),
    job.error ? make("span", { class: "hint" }, ` ${job.error.split("\n").at(-1)}`) : null,
  );
}
