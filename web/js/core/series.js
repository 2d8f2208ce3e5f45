// The series of runs: loaded once, then extended by the event stream.

import { get } from "./api.js";
import { valueOf } from "./metrics.js";
import * as stream from "./stream.js";

/** @typedef {import("./api.js").Schemas} Schemas */
/** @typedef {Record<string, any[]>} Columns columns of equal length, an entry for each interval */
/** @typedef {{ columns: Columns, events: Schemas["RunEvent"][], last: number, stale: boolean, whole: boolean }} Series `whole`: with the columns that have a list for each interval */

/** Maximum of points of a trace; for longer runs the server joins neighbouring intervals. */
const MAX_POINTS = 1200;

/** @type {Map<string, Series>} */
const loaded = new Map();
/** @type {Map<string, any[]>} messages that came while the series was loaded */
const loading = new Map();
/** @type {Set<string>} runs whose series could not be loaded */
const missing = new Set();
/** @type {Set<(id: string) => void>} */
const listeners = new Set();
/** @type {Set<string>} runs whose change is not notified yet */
const changes = new Set();
/** @type {WeakMap<any[], Map<string, any[]>>} what `mapped` has computed of a column */
const computed = new WeakMap();

/** Begins to extend series by the event stream. */
export function start() {
  stream.on("sample", addSample);
  stream.on("event", addEvent);
  // Messages are missing: what is shown is loaded again.
  stream.on("dropped", () => [...loaded.keys()].forEach(reload));
  // What could not be loaded while the server was away is loaded now.
  stream.on("connection", (there) => there && [...missing].forEach(changed));
}

/**
 * Calls `listener` with the id of a run after changes of its series, at most once in a frame: samples of several runs
 * arrive together. A page that is not visible has no frames.
 *
 * @param {(id: string) => void} listener
 * @returns {() => void} ends it
 */
export function watch(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * The series of a run; null before it is loaded. A missing or outdated one is requested.
 *
 * @param {string} id
 * @param {{ whole: boolean }} about whether columns with a list for each interval are needed: they are most of a series
 */
export function seriesOf(id, { whole }) {
  const known = loaded.get(id);
  const enough = known && (known.whole || !whole);
  if ((!enough || known.stale) && !loading.has(id)) load(id, whole || Boolean(known?.whole));
  return enough ? known : null;
}

/** Loads a series again; it is shown as it is until then. @param {string} id */
export function reload(id) {
  const known = loaded.get(id);
  if (known) known.stale = true;
  changed(id);
}

/** @param {string} id @param {boolean} whole */
async function load(id, whole) {
  /** @type {any[]} */
  const meanwhile = [];
  loading.set(id, meanwhile);
  try {
    const found = await get(`/runs/${encodeURIComponent(id)}/series`, {
      limit: MAX_POINTS,
      scalars: whole ? null : true,
    });
    loaded.set(id, { columns: found.columns, events: found.events, last: found.last_sample, stale: false, whole });
  } catch {
    // The run was deleted, or the server does not answer. Nobody is notified: the view would ask again at once.
    loading.delete(id);
    missing.add(id);
    return;
  }
  // From here on, messages are not collected any more.
  loading.delete(id);
  missing.delete(id);
  for (const message of meanwhile) "event" in message ? addEvent(message) : addSample(message);
  changed(id);
}

/** @param {Schemas["StreamedSample"]} sampled */
function addSample(sampled) {
  loading.get(sampled.run)?.push(sampled);
  const known = loaded.get(sampled.run);
  if (!known || sampled.id <= known.last) return;
  known.last = sampled.id;
  for (const [name, column] of Object.entries(known.columns)) column.push(valueOf(sampled.sample, name));
  if (known.columns.time.length > MAX_POINTS) known.stale = true;
  changed(sampled.run);
}

/** @param {Schemas["StreamedEvent"]} happened */
function addEvent(happened) {
  loading.get(happened.run)?.push(happened);
  const known = loaded.get(happened.run);
  const { time, text } = happened.event;
  if (!known || known.events.some((event) => event.time === time && event.text === text)) return;
  known.events.push(happened.event);
  changed(happened.run);
}

/**
 * A value for each value of a column. A column only grows, so only those of new intervals are computed.
 *
 * @template Value
 * @param {any[]} column
 * @param {string} name of what is computed
 * @param {(value: any) => Value} compute
 * @returns {Value[]}
 */
export function mapped(column, name, compute) {
  const own = computed.get(column) ?? new Map();
  const values = own.get(name) ?? [];
  for (let at = values.length; at < column.length; at += 1) values.push(compute(column[at]));
  computed.set(column, own.set(name, values));
  return values;
}

/** @param {string} id */
function changed(id) {
  if (!changes.size) requestAnimationFrame(notify);
  changes.add(id);
}

function notify() {
  const ids = [...changes];
  changes.clear();
  for (const id of ids) for (const each of listeners) each(id);
}
