// The dashboard: one list of runs, one event stream, one set of charts.

import { listen } from "./api.js";
import { byId } from "./dom.js";
import * as charts from "./charts.js";
import * as designs from "./designs.js";
import * as launch from "./launch.js";
import * as looks from "./looks.js";
import * as metrics from "./metrics.js";
import * as plots from "./plots.js";
import * as runs from "./runs.js";
import * as store from "./store.js";
import * as summary from "./summary.js";
import * as theme from "./theme.js";

let activity = null;

function redraw() {
  charts.schedule(runs.shown);
}

/** Draws everything again after a change of the selection or of the list of runs. */
function refresh() {
  runs.render();
  summary.render(runs.shown());
  plots.render(runs.shown());
  redraw();
}

/** Selects the newest group. */
function followNewest() {
  const newest = [...store.groups().values()][0];
  if (newest) runs.select(newest.map((run) => run.id));
}

async function reload() {
  await Promise.all([looks.load(), metrics.load(), store.loadHeads()]);
  if (byId("follow").checked && (activity?.runs.length || !runs.shown().length)) followNewest();
  refresh();
}

let inProgress = "";

async function onJobs(jobs) {
  launch.render(jobs);
  const ended = jobs.ended.map((job) => job.id);
  const running = jobs.active.flatMap((job) => job.runs.map((run) => run.id));
  // Progress alone changes nothing in the list of runs.
  const key = JSON.stringify([running, ended]);
  if (key === inProgress) return;
  inProgress = key;
  const now = { runs: jobs.active.flatMap((job) => job.runs) };
  // A finished run has figures that are not in the event stream.
  const before = new Set(activity?.runs.map((run) => run.id) ?? []);
  for (const run of now.runs) before.delete(run.id);
  for (const id of before) store.forget(id);
  activity = now;
  await reload();
}

designs.start();
theme.start(() => {
  plots.redraw();
  redraw();
});
store.start(() => {
  summary.renderEvents(runs.shown());
  redraw();
});
runs.start(() => {
  byId("follow").checked = false;
  refresh();
});
byId("follow").addEventListener("change", () => reload());
launch.start().catch((error) => console.error(error));

let connected = null;
listen({
  jobs: onJobs,
  sample(sampled) {
    store.addSample(sampled);
    redraw();
  },
  event(happened) {
    store.addEvent(happened);
    summary.renderEvents(runs.shown());
    redraw();
  },
  connection(there) {
    connected = there;
    launch.connection(there);
  },
});
reload().catch(() => launch.connection(connected ?? false));
