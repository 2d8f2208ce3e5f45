// The styles of runs. The server defines them (netkv/report/style.py), so its figures and these charts have the same
// colours. The scheme determines the colour; its runs differ in dash, marker and pattern.

import { get } from "./api.js";

/** @typedef {import("./api.js").Schemas} Schemas */
/** @typedef {{ line: { color: string, dash: string, width: number }, marker: Record<string, any>, bar: Record<string, any> }} Look */
/** @typedef {Pick<Schemas["RunHead"], "id" | "scenario" | "scheme" | "params" | "mode" | "target">} Styled */

/** @type {{ schemes: Record<string, Look[]>, others: Look[] } | null} */
let known = null;

/** Loads the definitions, once. */
export async function load() {
  known ??= await get("/looks");
}

/** The style of a scheme in lists and legends. @param {string} scheme @returns {Look} */
export function lookOf(scheme) {
  if (!known) throw new Error("The styles are not loaded.");
  return (known.schemes[scheme] ?? known.others)[0];
}

/**
 * Id of each of these runs → its style: `line`, `marker` and `bar` of plotly traces. Runs of a scheme are numbered in
 * this order. Repeats come last, because figures of the server have one line for all repeats.
 *
 * @param {Styled[]} runs
 * @returns {Map<string, Look>}
 */
export function looksOf(runs) {
  if (!known) throw new Error("The styles are not loaded.");
  const firsts = new Map();
  const repeats = [];
  for (const run of runs) {
    const settings = JSON.stringify([run.scenario, run.scheme, run.params, run.mode, run.target]);
    if (firsts.has(settings)) repeats.push(run);
    else firsts.set(settings, run);
  }
  const counts = new Map();
  const looks = new Map();
  for (const run of [...firsts.values(), ...repeats]) {
    const own = known.schemes[run.scheme] ?? known.others;
    const number = counts.get(own) ?? 0;
    counts.set(own, number + 1);
    looks.set(run.id, own[number % own.length]);
  }
  return looks;
}
