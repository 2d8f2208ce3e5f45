// A job: its title and state, what can be done with it, how far it is, and its runs. What can be clicked stays the same
// element from one update to the next, so that an update in the middle of a click does not lose it.

import { url } from "../../core/api.js";
import { fill, make } from "../../core/dom.js";
import { duration, label, moment } from "../../core/format.js";
import * as jobs from "../../core/jobs.js";
import * as router from "../../core/router.js";
import { problem } from "../../parts/problem.js";
import { progress } from "../../parts/progress.js";
import { matrix } from "./matrix.js";
import { workers } from "./workers.js";

/** @typedef {import("../../core/api.js").Schemas["Job"]} Job */

const IN_PROGRESS = ["starting", "running", "stopping"];

/** What it means that a job has ended and not all was well. @type {Record<Job["kind"], string>} */
const NOT_OK = {
  scenario: "a run or a threshold failed",
  benchmark: "a part failed",
  tool: "it found something wrong",
};

/** @param {(run: string) => void} choose shows the charts of a run */
export function jobCard(choose) {
  const name = make("span");
  const stateName = make("span");
  const result = make("a", { class: "button", id: "result" }, "Result as JSON");
  const comparison = make("a", { class: "button", id: "to-comparison" }, "Compare the runs");
  const cancel = make("button", {
    id: "cancel",
    class: "danger",
    type: "button",
    click: () => jobs.cancel(shownJob).catch(failed),
  });
  const buttons = make("p", { class: "buttons" }, result, comparison, cancel);
  const title = make("div", { class: "head", hidden: true }, make("h2", {}, name, " ", stateName), buttons);
  const state = make("div");
  const failure = make("div");
  const staff = workers();
  const runs = matrix(choose);
  const element = make(
    "section",
    { class: "card", id: "job", hidden: true },
    title,
    state,
    staff.element,
    failure,
    runs.element,
  );
  let shownJob = "";
  let titleDrawn = "";

  /** @param {Job} job */
  function drawTitle(job) {
    const ids = job.runs.map((run) => run.id);
    const key = JSON.stringify([job.id, job.state, job.runs[0]?.title, ids]);
    if (key === titleDrawn) return;
    titleDrawn = key;
    shownJob = job.id;
    name.textContent = job.runs[0]?.title || job.title;
    stateName.className = `state state-${job.state}`;
    stateName.textContent = job.state;
    result.hidden = job.kind === "scenario" || job.state !== "done";
    result.href = url(`/jobs/${encodeURIComponent(job.id)}/result`);
    result.download = `${job.id}.json`;
    comparison.hidden = ids.length === 0;
    comparison.href = router.link(["compare"], { run: ids });
    cancel.hidden = !IN_PROGRESS.includes(job.state) && job.state !== "queued";
    cancel.disabled = job.state === "stopping";
    cancel.textContent = cancel.disabled ? "Cancelling …" : "Cancel";
    title.hidden = false;
    fill(failure);
  }

  /** @param {unknown} error */
  function failed(error) {
    fill(failure, problem(error));
  }

  return {
    element,
    /** @param {Job | null} job @param {string} shown id of the run whose charts are shown */
    update(job, shown) {
      element.hidden = !job;
      if (!job) return;
      drawTitle(job);
      fill(
        state,
        make("p", { class: "hint" }, sentence(job)),
        IN_PROGRESS.includes(job.state) &&
          progress(`Progress of ${job.title}`, job.progress?.fraction ?? null, job.progress?.left_seconds),
        job.error && make("p", { class: "problem" }, job.error),
      );
      staff.update(IN_PROGRESS.includes(job.state) ? job.progress : null);
      runs.update(job, shown);
    },
    /** The job could not be loaded. @param {unknown} error */
    missing(error) {
      titleDrawn = "";
      title.hidden = true;
      fill(state);
      staff.update(null);
      runs.clear();
      failed(error);
      element.hidden = false;
    },
  };
}

/** @param {Job} job */
function sentence(job) {
  const runs = job.plan.length || job.runs.length;
  const current = job.runs.find((run) => run.status === "running");
  const parts = [
    job.started_at ? `Started ${moment(job.started_at)}` : `Requested ${moment(job.created_at)}`,
    job.source === "terminal" && "in a terminal",
    job.position && `position ${job.position} in the queue`,
    runs > 0 && `${runs} ${runs === 1 ? "run" : "runs"}`,
    // Once it runs, the time left is known better.
    job.expected_seconds != null &&
      !job.finished_at &&
      job.progress?.left_seconds == null &&
      `takes about ${duration(job.expected_seconds)} here`,
    job.progress && `${job.progress.phase}${current ? ` (${label(current)})` : ""}`,
    job.state === "done" && job.ok === false && NOT_OK[job.kind],
    job.finished_at && job.started_at && `took ${duration(job.finished_at - job.started_at)}`,
  ];
  return parts.filter(Boolean).join(" · ");
}
