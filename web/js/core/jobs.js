// The jobs of the server: what runs, waits and has ended.

import { send } from "./api.js";
import * as stream from "./stream.js";

/** @typedef {import("./api.js").Schemas} Schemas */
/** @typedef {Schemas["Job"]} Job */
/** @typedef {(jobs: Schemas["Jobs"]) => void} Listener */

/** @type {Schemas["Jobs"] | null} */
let newest = null;
/** @type {Set<Listener>} */
const listeners = new Set();

/** Begins to follow the jobs. */
export function start() {
  stream.on("jobs", (jobs) => {
    newest = jobs;
    for (const each of listeners) each(jobs);
  });
}

/** The newest state; null before the first message. */
export function current() {
  return newest;
}

/** The job that runs; null if none does. @returns {Job | null} */
export function running() {
  return newest?.active.find((job) => job.state !== "queued") ?? null;
}

/**
 * Calls `listener` now, if the state is known, and at each change.
 *
 * @param {Listener} listener
 * @returns {() => void} ends it
 */
export function watch(listener) {
  listeners.add(listener);
  if (newest) listener(newest);
  return () => listeners.delete(listener);
}

/**
 * Cancels a job.
 *
 * @param {string} id
 */
export function cancel(id) {
  return send("DELETE", `/jobs/${encodeURIComponent(id)}`);
}
