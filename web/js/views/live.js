// What runs now: headline numbers, progress, and charts of the run in progress.

import { get } from "../core/api.js";
import { fill, make } from "../core/dom.js";
import * as jobs from "../core/jobs.js";
import * as router from "../core/router.js";
import * as series from "../core/series.js";
import { charts } from "./live/charts.js";
import { events } from "./live/events.js";
import { faults } from "./live/faults.js";
import { headline } from "./live/headline.js";
import { jobCard } from "./live/job.js";
import { nothing } from "./live/nothing.js";
import { results } from "./live/sweep.js";
import { Choices } from "../parts/choices.js";

/** @typedef {import("../core/api.js").Schemas} Schemas */
/** @typedef {Schemas["Job"]} Job */
/** @typedef {Schemas["RunHead"]} RunHead */

/** @param {HTMLElement} place */
export function mount(place) {
  const card = jobCard(choose);
  const numbers = make("div", { id: "headline" });
  const actions = make("div", { id: "faults" });
  const injecting = faults(actions);
  const choices = new Choices();
  const pictures = charts(choices);
  const happened = events();
  const sweep = results(choices, (metric) => router.change({ metric }));
  const body = make(
    "div",
    { class: "stack", hidden: true },
    sweep.element,
    numbers,
    actions,
    pictures.element,
    happened.element,
  );
  const idle = nothing();
  fill(
    place,
    make("h1", { class: "hidden" }, "Live"),
    make("div", { class: "stack" }, card.element, body, idle.element),
  );

  /** @type {Job | null} */
  let job = null;
  /** The job of the address; without one, the job that runs. */
  let wanted = "";
  let chosen = "";
  /** What the shown job was loaded for. */
  let known = "";

  function brief() {
    const all = jobs.current();
    if (!wanted) return jobs.running() ?? all?.active[0];
    return [...(all?.active ?? []), ...(all?.ended ?? [])].find((each) => each.id === wanted);
  }

  /** Loads the job again if a run of it has begun or ended. */
  async function follow() {
    if (!jobs.current()) return;
    const now = brief();
    const id = now?.id ?? wanted;
    // A job that has just ended stays, so that its end is seen.
    if (!id && !job) return render();
    const key = JSON.stringify([id, now?.state, now?.runs.map((run) => run.id), now?.progress?.done]);
    if (id && key === known && job) {
      job = { ...job, progress: now?.progress ?? null };
      return render();
    }
    known = key;
    try {
      const loaded = /** @type {Job} */ (await get(`/jobs/${encodeURIComponent(id || (job?.id ?? ""))}`));
      if (known !== key) return;
      reloadEnded(loaded);
      job = loaded;
      render();
    } catch (error) {
      if (known !== key) return;
      job = null;
      known = "";
      render();
      card.missing(error);
    }
  }

  /** A run that has ended has figures that are not in the event stream. @param {Job} loaded */
  function reloadEnded(loaded) {
    const running = new Set(loaded.runs.filter((run) => run.status === "running").map((run) => run.id));
    for (const run of job?.runs ?? []) if (run.status === "running" && !running.has(run.id)) series.reload(run.id);
  }

  /** The run whose charts are shown: the chosen one, else the newest. @returns {RunHead | null} */
  function shownRun() {
    return job?.runs.find((run) => run.id === chosen) ?? job?.runs.at(-1) ?? null;
  }

  function render() {
    card.update(job, shownRun()?.id ?? "");
    body.hidden = !job?.runs.length;
    idle.element.hidden = Boolean(jobs.running());
    if (!idle.element.hidden) idle.update(job);
    if (!job) return;
    sweep.update(job, router.current().query.get("metric") ?? "");
    draw();
  }

  /** @param {string} id */
  function choose(id) {
    chosen = id;
    wanted = job?.id ?? "";
    const { query } = router.current();
    router.remember({ ...Object.fromEntries(query), run: id }, [wanted]);
    choices.forgetHeights(...pictures.ids);
    render();
  }

  function draw() {
    const run = shownRun();
    if (!run) return;
    const found = series.seriesOf(run.id, { whole: true });
    headline(numbers, run, found);
    injecting.update(run);
    pictures.update(run, found);
    happened.update(run, found);
  }

  const ends = [jobs.watch(follow), series.watch((id) => id === shownRun()?.id && draw())];
  return {
    show(/** @type {router.Route} */ { path, query }) {
      if ((path[0] ?? "") !== wanted) job = null;
      wanted = path[0] ?? "";
      chosen = query.get("run") ?? "";
      choices.follow(query);
      follow();
    },
    close() {
      // An answer that is under way is not shown any more.
      known = "";
      for (const end of ends) end();
      injecting.close();
      pictures.close();
      sweep.close();
    },
  };
}
