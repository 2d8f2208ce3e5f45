// The table of runs: groups with their runs, selection, cells.

import { make, swatch } from "../../core/dom.js";
import { label, moment } from "../../core/format.js";
import { lookOf } from "../../core/looks.js";
import * as router from "../../core/router.js";
import { text } from "./columns.js";
import { editable } from "./edit.js";
import { valueOf } from "../../core/metrics.js";

/** @typedef {import("../../core/api.js").Schemas["RunHead"]} RunHead */
/** @typedef {import("./columns.js").Column} Column */
/**
 * @typedef {object} Actions
 * @property {(name: string) => void} sort
 * @property {(run: RunHead, on: boolean, range: boolean) => void} select
 * @property {(runs: RunHead[], on: boolean) => void} selectAll
 * @property {(group: string) => void} fold
 * @property {(run: RunHead, change: object) => Promise<unknown>} change
 */
/** @typedef {{ runs: RunHead[], columns: Column[], selected: Map<string, RunHead>, sort: string, order: string, grouped: boolean, isFolded: (group: string) => boolean }} Shown */

/** @param {Shown} shown @param {Actions} actions */
export function runTable(shown, actions) {
  const { runs, columns, selected } = shown;
  const every = runs.length > 0 && runs.every((run) => selected.has(run.id));
  const all = make("input", {
    type: "checkbox",
    id: "select-page",
    "aria-label": "Select all runs of this page",
    change: () => actions.selectAll(runs, all.checked),
  });
  all.checked = every;
  all.indeterminate = !every && runs.some((run) => selected.has(run.id));
  const head = make(
    "tr",
    {},
    make("th", { scope: "col", class: "narrow" }, all),
    make(
      "th",
      { scope: "col", class: "text" },
      heading({ name: "scheme", title: "run", sort: "scheme" }, shown, actions),
    ),
    ...columns.map((column) =>
      make(
        "th",
        { scope: "col", class: column.text ? "text" : "", "aria-sort": sorted(column, shown) },
        heading(column, shown, actions),
      ),
    ),
  );
  return make(
    "table",
    { class: "runs", id: "runs" },
    make("caption", { class: "hidden" }, "Stored runs"),
    make("thead", {}, head),
    ...bodies(shown, actions),
  );
}

/** @param {{ name: string, sort?: string }} column @param {Shown} shown */
function sorted(column, { sort, order }) {
  return column.sort && column.sort === sort ? order : null;
}

/** @param {{ name: string, title: string, sort?: string }} column @param {Shown} shown @param {Actions} actions */
function heading({ name, title, sort: by }, { sort, order }, actions) {
  if (!by) return title;
  const arrow = by === sort ? (order === "ascending" ? " ▲" : " ▼") : "";
  return make(
    "button",
    { type: "button", class: "heading", id: `sort-${name}`, click: () => actions.sort(by) },
    title,
    make("span", { "aria-hidden": "true" }, arrow),
  );
}

/** @param {Shown} shown @param {Actions} actions */
function bodies(shown, actions) {
  if (!shown.grouped) return [make("tbody", {}, ...shown.runs.map((run) => row(run, shown, actions)))];
  /** @type {Map<string, RunHead[]>} */
  const groups = new Map();
  for (const run of shown.runs) groups.set(run.group, [...(groups.get(run.group) ?? []), run]);
  return [...groups].map(([group, runs]) => {
    const folded = shown.isFolded(group);
    return make(
      "tbody",
      {},
      groupRow(group, runs, folded, shown, actions),
      ...(folded ? [] : runs.map((run) => row(run, shown, actions))),
    );
  });
}

/** One row for a `netkv scenario run`. @param {string} group @param {RunHead[]} runs @param {boolean} folded @param {Shown} shown @param {Actions} actions */
function groupRow(group, runs, folded, { columns, selected }, actions) {
  const [first] = runs;
  const every = runs.every((run) => selected.has(run.id));
  const box = make("input", {
    type: "checkbox",
    id: `select-${group}`,
    "aria-label": `Select the runs of ${first.title}`,
    change: () => actions.selectAll(runs, box.checked),
  });
  box.checked = every;
  box.indeterminate = !every && runs.some((run) => selected.has(run.id));
  const schemes = [...new Set(runs.map((run) => run.scheme))];
  const ids = runs.map((run) => run.id);
  const states = ["running", "failed", "cancelled"]
    .map((state) => [state, runs.filter((run) => run.status === state).length])
    .filter(([, number]) => number);
  return make(
    "tr",
    { class: "group" },
    make("td", { class: "narrow" }, box),
    make(
      "th",
      { scope: "rowgroup", colspan: columns.length + 1, class: "text" },
      make(
        "div",
        { class: "group-line" },
        make(
          "button",
          {
            type: "button",
            class: "fold",
            id: `fold-${group}`,
            "aria-expanded": String(!folded),
            click: () => actions.fold(group),
          },
          make("span", { "aria-hidden": "true" }, folded ? "▸" : "▾"),
          ` ${first.title || first.scenario}`,
        ),
        make(
          "span",
          { class: "hint" },
          `${runs.length} ${runs.length === 1 ? "run" : "runs"} · ${moment(Math.min(...runs.map((run) => run.started_at)))}`,
        ),
        make(
          "span",
          { class: "run-schemes" },
          ...(folded
            ? schemes.map((scheme) => make("span", { class: "run-scheme" }, swatch(lookOf(scheme)), scheme))
            : []),
        ),
        ...states.map(([state, number]) => make("span", { class: `state state-${state}` }, `${number} ${state}`)),
        make(
          "span",
          { class: "links" },
          make("a", { href: router.link(["compare"], { run: ids }) }, "Compare"),
          make("a", { href: router.link(["figures"], { run: ids }) }, "Figures"),
        ),
      ),
    ),
  );
}

/** @param {RunHead} run @param {Shown} shown @param {Actions} actions */
function row(run, { columns, selected }, actions) {
  const box = make("input", { type: "checkbox", id: `run-${run.id}`, "aria-label": `Select ${label(run)}` });
  box.checked = selected.has(run.id);
  box.addEventListener("click", (event) => actions.select(run, box.checked, event.shiftKey));
  const pin = make(
    "button",
    {
      type: "button",
      id: `pin-${run.id}`,
      class: "pin",
      "aria-pressed": String(run.pinned),
      "aria-label": `Pin ${label(run)} as baseline`,
      title: run.pinned
        ? "Pinned: the baseline of comparisons; it cannot be deleted. Click to unpin."
        : "Pin as the baseline of comparisons",
      click: () => actions.change(run, { pinned: !run.pinned }),
    },
    run.pinned ? "★" : "☆",
  );
  const link = make("a", { href: router.link(["compare"], { run: [run.id] }), title: run.id }, label(run));
  return make(
    "tr",
    { class: selected.has(run.id) ? "selected" : "", "data-run": run.id },
    make("td", { class: "narrow" }, box),
    make("td", { class: "text name" }, make("span", { class: "name-line" }, pin, swatch(lookOf(run.scheme)), link)),
    ...columns.map((column) => cell(run, column, actions)),
  );
}

/** @param {RunHead} run @param {Column} column @param {Actions} actions */
function cell(run, column, actions) {
  const attributes = { class: column.text ? "text" : "", "data-column": column.name, "data-label": column.title };
  if (column.name === "status")
    return make(
      "td",
      { ...attributes, title: run.reason },
      make("span", { class: `state state-${run.status}` }, run.status),
    );
  if (column.name === "tags") {
    const save = (/** @type {string} */ words) => actions.change(run, { tags: words.split(/[\s,]+/).filter(Boolean) });
    return make(
      "td",
      attributes,
      editable({
        id: `tags-${run.id}`,
        what: `Tags of ${label(run)}`,
        text: run.tags.join(" "),
        shown: run.tags.map((tag) => make("span", { class: "tag" }, tag)),
        empty: "add",
        save,
      }),
    );
  }
  if (column.name === "note") {
    const save = (/** @type {string} */ note) => actions.change(run, { note });
    return make(
      "td",
      { ...attributes, class: "text note" },
      editable({
        id: `note-${run.id}`,
        what: `Note on ${label(run)}`,
        text: run.note,
        shown: [document.createTextNode(run.note)],
        empty: "add",
        save,
      }),
    );
  }
  const value = column.value(run);
  return make("td", { ...attributes, title: typeof value === "number" ? String(value) : null }, column.show(run));
}

/** Writes the newest interval of a run in progress into its row. @param {HTMLElement} place @param {string} id @param {Record<string, any>} sample */
export function live(place, id, sample) {
  for (const cell of /** @type {NodeListOf<HTMLElement>} */ (
    place.querySelectorAll(`tr[data-run="${CSS.escape(id)}"] td[data-column]`)
  )) {
    const name = cell.dataset.column ?? "";
    const value = valueOf(sample, name);
    if (typeof value !== "number") continue;
    cell.textContent = text(name, value);
    cell.title = String(value);
  }
}
