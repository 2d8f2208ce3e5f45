// The search, the filters and the choice of columns above the table of runs.

import { get } from "../../core/api.js";
import { fill, make } from "../../core/dom.js";
import { afterPause } from "../../core/pause.js";

/** @typedef {import("../../core/api.js").Schemas["StoredValues"]} Values */
/** @typedef {{ q: string, scenario: string, scheme: string, mode: string, status: string, tag: string, where: string[], pinned: boolean }} Filters */

/** Milliseconds after the last key before a search starts. */
const TYPING_MS = 250;

/** No filters. @returns {Filters} */
export function none() {
  return { q: "", scenario: "", scheme: "", mode: "", status: "", tag: "", where: [], pinned: false };
}

/** @param {URLSearchParams} query @returns {Filters} */
export function read(query) {
  const one = (/** @type {string} */ name) => query.get(name) ?? "";
  return {
    q: one("q"),
    scenario: one("scenario"),
    scheme: one("scheme"),
    mode: one("mode"),
    status: one("status"),
    tag: one("tag"),
    where: query.getAll("where"),
    pinned: query.has("pinned"),
  };
}

/** Whether any filter is set. @param {Filters} filters */
export function any(filters) {
  return Object.values(filters).some((value) => (Array.isArray(value) ? value.length : value));
}

/** The same as parameters of the API. @param {Filters} filters */
export function parameters({ q, scenario, scheme, mode, status, tag, where, pinned }) {
  return { search: q, scenario, scheme, mode, status, tag, where, pinned: pinned || null };
}

/**
 * The row of controls. `changed` is called with the new filters.
 *
 * @param {(filters: Filters) => void} changed
 */
export function controls(changed) {
  let filters = none();
  /** @type {Values} */
  let values = { scenarios: {}, schemes: {}, tags: {} };
  const set = (/** @type {Partial<Filters>} */ part) => changed((filters = { ...filters, ...part }));
  const searching = afterPause(TYPING_MS, () => set({ q: search.value.trim() }));
  const search = make("input", {
    id: "search",
    type: "search",
    placeholder: "Search runs",
    autocomplete: "off",
    input: searching.soon,
  });
  const where = make("input", {
    id: "where",
    placeholder: "workload.zipf>=0.9",
    autocomplete: "off",
    title: "Conditions on options: path=value, also !=, <, <=, > and >=; several separated by spaces",
    change: () => set({ where: where.value.split(/\s+/).filter(Boolean) }),
  });
  const pinned = make("input", { id: "pinned", type: "checkbox", change: () => set({ pinned: pinned.checked }) });
  const clear = make(
    "button",
    { id: "clear", type: "button", class: "quiet", click: () => changed((filters = none())) },
    "Clear filters",
  );
  const choices = make("div", { class: "run-choices" });
  const element = make(
    "form",
    { class: "run-filters", role: "search", submit: (/** @type {Event} */ event) => event.preventDefault() },
    labelled("Search", search),
    choices,
    labelled("Options", where),
    make("label", { class: "run-check", for: "pinned" }, pinned, "Pinned only"),
    clear,
  );

  /** @param {string} text @param {"scenario" | "scheme" | "mode" | "status" | "tag"} name @param {Record<string, number | null>} options */
  function choice(text, name, options) {
    const own = filters[name];
    // What the address asks for can be chosen, also if no run has it.
    const all = own && !(own in options) ? { ...options, [own]: 0 } : options;
    const entries = Object.entries(all).map(([value, runs]) =>
      make("option", { value, selected: value === own }, runs == null ? value : `${value} (${runs})`),
    );
    const select = make(
      "select",
      { id: `by-${name}`, change: () => set({ [name]: select.value }) },
      make("option", { value: "" }, "any"),
      ...entries,
    );
    return labelled(text, select);
  }

  function render() {
    if (document.activeElement !== search) search.value = filters.q;
    if (document.activeElement !== where) where.value = filters.where.join(" ");
    pinned.checked = filters.pinned;
    clear.hidden = !any(filters);
    fill(
      choices,
      choice("Scenario", "scenario", values.scenarios),
      choice("Scheme", "scheme", values.schemes),
      choice("Status", "status", { running: null, done: null, failed: null, cancelled: null }),
      choice("Mode", "mode", { live: null, sim: null }),
      choice("Tag", "tag", values.tags),
    );
  }

  return {
    element,
    /** @param {Filters} now */
    show(now) {
      filters = now;
      render();
    },
    /** Loads the values that can be chosen. */
    async refresh() {
      values = await get("/runs/values");
      render();
    },
    close: () => searching.cancel(),
  };
}

/** @param {string} text @param {HTMLElement} control */
function labelled(text, control) {
  return make("div", { class: "run-field" }, make("label", { for: control.id }, text), control);
}

/**
 * The choice of columns, as a list of check boxes.
 *
 * @param {import("./columns.js").Column[]} all
 * @param {string[]} chosen
 * @param {(names: string[]) => void} changed
 */
export function columnChoice(all, chosen, changed) {
  const boxes = all.map(({ name, title }) => {
    const box = make("input", { type: "checkbox", id: `column-${name}`, change: () => toggle(name, box.checked) });
    box.checked = chosen.includes(name);
    return make("label", { for: `column-${name}` }, box, title);
  });

  /** @param {string} name @param {boolean} on */
  function toggle(name, on) {
    const wanted = new Set(on ? [...chosen, name] : chosen.filter((each) => each !== name));
    // In the order of the list; unknown ones (of other pages) stay behind it.
    const known = all.map((column) => column.name).filter((each) => wanted.has(each));
    changed([...known, ...[...wanted].filter((each) => !known.includes(each))]);
  }

  return make("fieldset", { class: "columns" }, make("legend", { class: "hidden" }, "Columns"), ...boxes);
}
