// Starting and stopping runs.

import { get, send } from "./api.js";
import { byId, make } from "./dom.js";
import { duration } from "./format.js";

const scenarios = new Map();
let activity = { state: "idle", runs: [] };

/** Fills the form. */
export async function start() {
  byId("launch").addEventListener("submit", submit);
  byId("stop").addEventListener("click", stop);
  byId("scenario").addEventListener("change", describe);
  for (const scenario of await get("/api/v1/scenarios")) scenarios.set(scenario.name, scenario);
  byId("scenario").replaceChildren(...[...scenarios.keys()].map((name) => make("option", { value: name }, name)));
  if (scenarios.has("quickstart")) byId("scenario").value = "quickstart";
  describe();
  allow();
}

/** Shows the jobs of the server. */
export function render(jobs) {
  const now = activityOf(jobs);
  activity = now;
  show();
  if (now.error) problem(now.error);
}

function show() {
  const now = activity;
  const words = {
    idle: "Nothing is running.",
    starting: `Starting ${now.scenario} …`,
    running: `Running ${now.scenario}: ${now.runs.map((run) => run.scheme).join(", ") || "between two runs"}`,
    stopping: `Stopping ${now.scenario} …`,
  };
  byId("activity").dataset.state = now.state;
  byId("activity").textContent = words[now.state];
  allow();
  byId("stop").disabled = !["starting", "running"].includes(now.state);
}

/** The job in progress, or how the last one ended. */
function activityOf({ active, ended }) {
  const [job] = active;
  if (job) return { id: job.id, state: job.state === "queued" ? "starting" : job.state, scenario: job.title, runs: job.runs };
  return { state: "idle", runs: [], error: ended[0]?.state === "failed" ? ended[0].error : null };
}

/** Enables the start button, unless a run is in progress or the scenarios are not loaded. */
function allow() {
  byId("start").disabled = !scenarios.size;
}

/** Shows whether the server answers. */
export function connection(there) {
  if (there) {
    show();
    return;
  }
  byId("activity").dataset.state = "lost";
  byId("activity").textContent = "The server does not answer; trying again …";
}

function describe() {
  const scenario = scenarios.get(byId("scenario").value);
  if (!scenario) return;
  const runs = scenario.runs === 1 ? "1 run" : `${scenario.runs} runs`;
  const virtual = scenario.virtual_seconds == null ? "" : `, ${duration(scenario.virtual_seconds)} of virtual time`;
  byId("about").textContent = `${scenario.title}. ${runs}, about ${duration(scenario.wall_seconds)} here (${scenario.wall_seconds_source})${virtual}.`;
  const boxes = scenario.schemes.map((name) => {
    const box = make("input", { type: "checkbox", name: "scheme", value: name });
    box.checked = true;
    return make("label", {}, box, name);
  });
  byId("schemes").replaceChildren(make("legend", {}, "Schemes"), ...boxes);
}

async function submit(happened) {
  happened.preventDefault();
  const scenario = scenarios.get(byId("scenario").value);
  const boxes = [...byId("schemes").querySelectorAll("input")];
  const chosen = boxes.filter((box) => box.checked).map((box) => box.value);
  if (!chosen.length) {
    problem("Choose at least one scheme.");
    return;
  }
  const request = {
    scenario: scenario.name,
    schemes: chosen.length === boxes.length ? [] : chosen,
    set: byId("changes").value.split("\n").map((line) => line.trim()).filter(Boolean),
  };
  for (const name of ["seed", "repeat"]) if (byId(name).value) request[name] = Number(byId(name).value);
  await ask(() => send("POST", "/api/v1/jobs", request));
}

async function stop() {
  await ask(() => send("DELETE", `/api/v1/jobs/${activity.id}`));
}

async function ask(request) {
  problem("");
  byId("start").disabled = byId("stop").disabled = true;
  try {
    await request();
  } catch (error) {
    problem(error.message);
  }
  show();
}

function problem(text) {
  byId("problem").hidden = !text;
  byId("problem").textContent = text;
}
