// What runs now: headline numbers, progress, and charts of the run in progress.

import { get, url } from "../core/api.js";
import { fill, make } from "../core/dom.js";
import { duration, label, moment } from "../core/format.js";
import * as jobs from "../core/jobs.js";
import * as router from "../core/router.js";
import * as series from "../core/series.js";
import { progress } from "../parts/progress.js";
import { charts } from "./live/charts.js";
import { events } from "./live/events.js";
import { faults } from "./live/faults.js";
import { headline } from "./live/headline.js";
import { matrix } from "./live/matrix.js";
import { nothing } from "./live/nothing.js";
import { results } from "./live/sweep.js";
import { Choices } from "../parts/choices.js";
import { problem } from "../parts/problem.js";

/** @typedef {import("../core/api.js").Schemas} Schemas */
/** @typedef {Schemas["Job"]} Job */
/** @typedef {Schemas["RunHead"]} RunHead */

const IN_PROGRESS = ["starting", "running", "stopping"];

/** @param {HTMLElement} place */
export function mount(place) {
  const head = make("section", { class: "card", id: "job", hidden: true });
  const numbers = make("div", { id: "headline" });
  const actions = make("div", { id: "faults" });
  const injecting = faults(actions);
  const choices = new Choices();
  const pictures = charts(choices);
  const happened = events();
  const sweep = results(choices, (metric) => router.change({ metric }));
  const body = make("div", { class: "stack", hidden: true }, sweep.element, numbers, actions, pictures.element, happened.element);
  const idle = make("div", { class: "stack", hidden: true });
  fill(place, make("h1", { class: "hidden" }, "Live"), make("div", { class: "stack" }, head, body, idle));

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
      fill(head, problem(error));
      head.hidden = false;
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
    head.hidden = !job;
    body.hidden = !job?.runs.length;
    idle.hidden = Boolean(jobs.running());
    if (!idle.hidden) nothing(idle, job).catch(failed);
    if (!job) return;
    renderHead(job);
    sweep.update(job, router.current().query.get("metric") ?? "");
    draw();
  }

  /** @param {Job} current */
  function renderHead(current) {
    const active = IN_PROGRESS.includes(current.state);
    const stopping = current.state === "stopping";
    const cancel = make("button", { id: "cancel", class: "danger", type: "button", disabled: stopping, click: () => jobs.cancel(current.id).catch(failed) }, stopping ? "Cancelling …" : "Cancel");
    const ids = current.runs.map((run) => run.id);
    fill(
      head,
      make(
        "div",
        { class: "head" },
        make("h2", {}, current.runs[0]?.title || current.title, " ", make("span", { class: `state state-${current.state}` }, current.state)),
        make("p", { class: "buttons" }, current.kind !== "scenario" && current.state === "done" && make("a", { class: "button", id: "result", href: url(`/jobs/${encodeURIComponent(current.id)}/result`), download: `${current.id}.json` }, "Result as JSON"), ids.length > 0 && make("a", { class: "button", id: "to-comparison", href: router.link(["compare"], { run: ids }) }, "Compare the runs"), (active || current.state === "queued") && cancel),
      ),
      make("p", { class: "hint" }, sentence(current)),
      active && progress(`Progress of ${current.title}`, current.progress?.fraction ?? null, current.progress?.left_seconds),
      current.error && make("p", { class: "problem" }, current.error),
      matrix(current, shownRun()?.id ?? "", choose),
    );
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

  /** @param {Error} error */
  function failed(error) {
    head.hidden = false;
    head.append(make("p", { class: "problem", role: "alert" }, error.message));
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

/** What it means that a job has ended and not all was well. @type {Record<Job["kind"], string>} */
const NOT_OK = { scenario: "a run or a threshold failed", benchmark: "a part failed", tool: "it found something wrong" };

/** @param {Job} job */
function sentence(job) {
  const runs = job.plan.length || job.runs.length;
  const current = job.runs.find((run) => run.status === "running");
  const parts = [
    job.started_at ? `Started ${moment(job.started_at)}` : `Requested ${moment(job.created_at)}`,
    job.source === "terminal" && "in a terminal",
    job.position && `position ${job.position} in the queue`,
    runs > 0 && `${runs} ${runs === 1 ? "run" : "runs"}`,
    job.expected_seconds != null && !job.finished_at && `takes about ${duration(job.expected_seconds)} here`,
    job.progress && `${job.progress.phase}${current ? ` (${label(current)})` : ""}`,
    job.state === "done" && job.ok === false && NOT_OK[job.kind],
    job.finished_at && job.started_at && `took ${duration(job.finished_at - job.started_at)}`,
  ];
  return parts.filter(Boolean).join(" · ");
}
