// The loaded data of runs: the heads of all, and the series of the selected ones.

import { get } from "./api.js";

/** Maximum of points of a trace; for longer runs the server joins neighbouring intervals. */
const MAX_POINTS = 1200;

export const heads = new Map();
const series = new Map();
let arrived = () => {};

/** Loads the list of runs, newest first. */
export async function loadHeads() {
  const list = await get("/api/v1/runs?limit=300");
  heads.clear();
  for (const run of list) heads.set(run.id, run);
}

/** Runs by group, newest group first; within a group in the order in which they ran. */
export function groups() {
  const found = new Map();
  for (const run of heads.values()) {
    if (!found.has(run.group)) found.set(run.group, []);
    found.get(run.group).unshift(run);
  }
  return found;
}

/** `notify` is called when a requested series has arrived. */
export function start(notify) {
  arrived = notify;
}

/** The series of a run; null before it is loaded. A missing or outdated series is requested. */
export function seriesOf(id) {
  const known = series.get(id) ?? {};
  series.set(id, known);
  if (!known.loading && (!known.columns || known.stale)) load(id, known);
  return known.columns ? known : null;
}

async function load(id, known) {
  known.loading = true;
  known.stale = false;
  known.waiting = [];
  try {
    const loaded = await get(`/api/v1/runs/${encodeURIComponent(id)}/series`);
    Object.assign(known, { columns: loaded.columns, events: loaded.events, last: loaded.last_sample });
    for (const sampled of known.waiting) addSample(sampled);
    arrived();
  } catch {
    // The run was deleted, or the server does not answer; the next call of `seriesOf` tries again.
    series.delete(id);
  }
  known.loading = false;
}

/** Marks a series as outdated: it is shown until it has been loaded again. */
export function forget(id) {
  const known = series.get(id);
  if (known) known.stale = true;
}

/** Adds a sample of the event stream to a loaded series, unless the series contains it. */
export function addSample(sampled) {
  const known = series.get(sampled.run);
  if (!known) return;
  if (known.loading) known.waiting.push(sampled);
  if (!known.columns || sampled.id <= known.last) return;
  known.last = sampled.id;
  for (const [name, column] of Object.entries(known.columns)) {
    column.push(cell(sampled.sample, name));
  }
  if (known.columns.time.length > MAX_POINTS) forget(sampled.run);
}

/** The value of a sample for a column of a series (netkv/runs/records.py). */
function cell(sample, name) {
  const latency = name.match(/^latency_(.+)_us$/);
  return latency ? sample.latency_us[latency[1]] : sample[name];
}

/** Adds an event of the event stream. */
export function addEvent(happened) {
  const known = series.get(happened.run);
  const same = (event) => event.time === happened.event.time && event.text === happened.event.text;
  if (known?.events && !known.events.some(same)) known.events.push(happened.event);
}
