// The list of runs, and the selected ones, which are shown.

import { byId, make, swatch } from "./dom.js";
import { label, moment, rate } from "./format.js";
import { looksOf } from "./looks.js";
import { groups, heads } from "./store.js";

const selected = new Set();
let changed = () => {};

/** `notify` is called after every change of the selection by the user. */
export function start(notify) {
  changed = notify;
}

/** Heads of the runs that are shown, in the order in which they are numbered. */
export function shown() {
  return [...selected].map((id) => heads.get(id)).filter(Boolean);
}

/** Selects these runs only. */
export function select(ids) {
  selected.clear();
  for (const id of ids) selected.add(id);
}

/** Selects one more run, without a call of `notify`. */
export function add(id) {
  selected.add(id);
}

/** Draws the list. */
export function render() {
  const place = byId("runs");
  const focused = document.activeElement?.id;
  if (!heads.size) {
    place.replaceChildren(make("p", { class: "empty" }, "No run is stored yet. Start one above, or with ‘netkv scenario run quickstart’."));
    return;
  }
  const looks = looksOf(shown());
  place.replaceChildren(...[...groups()].map(([group, runs]) => section(group, runs, looks)));
  // Keep the keyboard focus, because the elements are replaced.
  if (focused) byId(focused)?.focus();
}

function section(group, runs, looks) {
  const title = make(
    "button",
    { type: "button", id: `group-${group}`, title: "Show these runs", click: () => { select(runs.map((run) => run.id)); changed(); } },
    runs[0].scenario,
    make("time", { datetime: new Date(runs[0].started_at * 1000).toISOString() }, moment(runs[0].started_at)),
  );
  return make("section", { class: "group" }, title, make("ul", {}, ...runs.map((run) => item(run, looks.get(run.id)))));
}

function item(run, look) {
  const box = make("input", { type: "checkbox", id: `run-${run.id}`, change: () => toggle(run.id, box.checked) });
  box.checked = look !== undefined;
  const state = run.status === "done" ? `${rate(run.throughput_ops)} ops/s` : run.status;
  return make(
    "li",
    { class: "run", title: run.reason ?? run.id },
    make("label", {}, box, swatch(look), make("span", { class: "name" }, label(run)), make("span", { class: `rate status-${run.status}` }, state)),
  );
}

function toggle(id, on) {
  if (on) selected.add(id);
  else selected.delete(id);
  changed();
}
