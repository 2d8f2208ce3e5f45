// The labs of the server: their newest state and samples, while a view shows them.

import { get } from "./api.js";
import * as stream from "./stream.js";

/** @typedef {import("./api.js").Schemas} Schemas */
/** @typedef {Schemas["LabSample"]} Sample */
/** @typedef {Schemas["LabUpdate"]} Update */
/** @typedef {{ update: Update, samples: Sample[], loading: boolean }} Known */
/** @typedef {(labs: Map<string, Known>) => void} Listener */

/** Samples of a lab that are kept, as many as its supervisor keeps. */
const KEPT = 600;
/** For how many the API can be asked at a time. */
const PAGE = 100;

/** @type {Map<string, Known>} */
const known = new Map();
/** @type {Set<Listener>} */
const listeners = new Set();
let off = () => {};

/**
 * Calls `listener` at each change; the stream has messages about labs as long as there are listeners.
 *
 * @param {Listener} listener
 * @returns {() => void} ends it
 */
export function watch(listener) {
  listeners.add(listener);
  if (listeners.size === 1) off = stream.on("labs", receive);
  return () => {
    listeners.delete(listener);
    if (!listeners.size) off();
  };
}

/** @param {{ labs: Update[] }} message */
function receive({ labs }) {
  const names = new Set(labs.map((update) => update.name));
  for (const name of known.keys()) if (!names.has(name)) known.delete(name);
  for (const update of labs) {
    const before = known.get(update.name);
    const same = before?.update.created === update.created ? before : null;
    if (same) {
      same.update = update;
      add(same, update.samples);
    } else known.set(update.name, { update, samples: [...update.samples], loading: false });
  }
  for (const each of listeners) each(known);
}

/**
 * Appends samples that are not known. If some are missing before them, all are loaded instead.
 *
 * @param {Known} lab
 * @param {Sample[]} samples
 */
function add(lab, samples) {
  const last = lab.samples.at(-1)?.number ?? 0;
  const fresh = samples.filter((sample) => sample.number > last);
  if (last > 0 && fresh.length > 0 && fresh[0].number > last + 1) return load(lab, last);
  append(lab, fresh);
}

/** @param {Known} lab @param {Sample[]} samples */
function append(lab, samples) {
  lab.samples.push(...samples);
  if (lab.samples.length > KEPT) lab.samples.splice(0, lab.samples.length - KEPT);
}

/** Loads the samples after a number, which the stream has not sent. @param {Known} lab @param {number} after */
async function load(lab, after) {
  if (lab.loading) return;
  lab.loading = true;
  try {
    for (let more = true; more;) {
      const found = await get(`/labs/${encodeURIComponent(lab.update.name)}/samples`, { after });
      if (found.created !== lab.update.created) return;
      append(lab, found.samples);
      after = found.samples.at(-1)?.number ?? after;
      more = found.samples.length === PAGE;
    }
  } catch {
    // It has just ended, or does not answer; the next message tries again.
  } finally {
    lab.loading = false;
  }
}
