// The styles of runs. The server defines them (netkv/report/style.py), so its figures and these charts have the same
// colours. The scheme determines the colour; its runs differ in dash, marker and pattern.

import { get } from "./api.js";

let known = null;

/** Loads the definitions, once. */
export async function load() {
  known ??= await get("/api/v1/looks");
}

/**
 * Id of each of these runs → its style: `line`, `marker` and `bar` of plotly traces. Runs of a scheme are numbered in
 * this order. Repeats come last, because figures of the server have one line for all repeats.
 */
export function looksOf(runs) {
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
