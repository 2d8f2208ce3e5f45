// All stored runs: search, filters, order and pages on the server; selection for comparison, export, tags, deletion.

import { get, send, url } from "../core/api.js";
import { fill, make } from "../core/dom.js";
import { count } from "../core/format.js";
import * as jobs from "../core/jobs.js";
import { afterPress } from "../core/press.js";
import * as router from "../core/router.js";
import * as stream from "../core/stream.js";
import * as columns from "./runs/columns.js";
import { askTags, confirmDelete } from "./runs/dialogs.js";
import { isEdited } from "./runs/edit.js";
import * as filters from "./runs/filters.js";
import { live, runTable } from "./runs/table.js";
import { sentenceOf } from "../parts/problem.js";

/** @typedef {import("../core/api.js").Schemas} Schemas */
/** @typedef {Schemas["RunHead"]} RunHead */

const PAGE = 100;
const FORMATS = ["csv", "json", "parquet"];

/** @param {HTMLElement} place */
export function mount(place) {
  let wanted = filters.none();
  let sort = "started_at";
  let order = "descending";
  let page = 0;
  /** @type {string[]} */
  let names = [];
  /** Whether groups are folded unless they are in `flipped`. */
  let folded = false;
  /** @type {Set<string>} */
  let flipped = new Set();
  /** @type {Schemas["Runs"] | null} */
  let found = null;
  /** @type {Map<string, RunHead>} by id, in the order of the selection */
  const selected = new Map();
  let last = "";
  let newest = 0;
  let stale = false;

  const controls = filters.controls((now) => go({ ...state(), ...address(now), page: null }));
  const actions = make("div", {
    class: "buttons selection",
    id: "actions",
    role: "group",
    "aria-label": "What to do with the selected runs",
  });
  const problem = make("div", { role: "alert" });
  const list = make("div", { class: "scroll", id: "list", tabindex: "0", role: "region", "aria-label": "Stored runs" });
  const pages = make("nav", { class: "buttons pages", id: "pages", "aria-label": "Pages" });
  const choice = make("details", { class: "column-choice", id: "columns" }, make("summary", {}, "Columns"));
  const fold = make("input", {
    type: "checkbox",
    id: "fold",
    change: () => go({ ...state(), fold: fold.checked ? 1 : null, flip: [] }),
  });
  const total = make("span", { class: "hint", id: "total", role: "status" });
  fill(
    place,
    make(
      "div",
      { class: "stack" },
      make(
        "section",
        { class: "card" },
        make("div", { class: "head" }, make("h1", {}, "Runs"), total),
        controls.element,
      ),
      make(
        "section",
        { class: "card" },
        make(
          "div",
          { class: "head tools" },
          actions,
          make(
            "div",
            { class: "buttons" },
            make("label", { class: "run-check", for: "fold" }, fold, "Fold groups"),
            choice,
          ),
        ),
        problem,
        list,
        pages,
      ),
    ),
  );

  /** @param {filters.Filters} now */
  function address({ q, scenario, scheme, mode, status, tag, where, pinned }) {
    return { q, scenario, scheme, mode, status, tag, where, pinned: pinned ? 1 : null };
  }

  /** The whole state of the view, as parameters of the address. @returns {Record<string, unknown>} */
  function state() {
    return {
      ...address(wanted),
      sort: sort === "started_at" ? null : sort,
      order: order === "descending" ? null : order,
      page: page || null,
      col: same(names, columns.chosen([])) ? [] : names,
      fold: folded ? 1 : null,
      flip: [...flipped],
    };
  }

  /** @param {Record<string, unknown>} query */
  function go(query) {
    router.remember(query);
    show(router.current());
  }

  /** @param {router.Route} route */
  function show({ query }) {
    wanted = filters.read(query);
    sort = query.get("sort") ?? "started_at";
    order = query.get("order") === "ascending" ? "ascending" : "descending";
    page = Math.max(0, Math.floor(Number(query.get("page"))) || 0);
    names = columns.chosen(query.getAll("col"));
    folded = query.has("fold");
    flipped = new Set(query.getAll("flip"));
    fold.checked = folded;
    controls.show(wanted);
    load();
  }

  async function load() {
    const mine = ++newest;
    const query = { ...filters.parameters(wanted), sort, order, limit: PAGE, offset: page * PAGE };
    try {
      const answer = /** @type {Schemas["Runs"]} */ (await get("/runs", query));
      if (mine !== newest) return;
      found = answer;
      fill(problem);
      // The newest state of what is selected; runs of other pages stay as they were.
      for (const run of answer.runs) if (selected.has(run.id)) selected.set(run.id, run);
      afterPress(() => mine === newest && render());
    } catch (error) {
      if (mine === newest) failed(error);
    }
  }

  /** @param {unknown} error */
  function failed(error) {
    fill(problem, make("p", { class: "problem" }, sentenceOf(error)));
  }

  function render() {
    if (!found) return;
    if (isEdited(list)) {
      stale = true;
      return;
    }
    stale = false;
    const { runs } = found;
    fill(total, `${count(found.total)} ${found.total === 1 ? "run" : "runs"}`);
    const all = columns.available(runs);
    const shown = names
      .map((name) => all.find((column) => column.name === name))
      .filter((column) => column !== undefined);
    const open = choice.open;
    fill(choice, make("summary", {}, "Columns"), filters.columnChoice(all, names, choose));
    choice.open = open;
    const grouped = sort === "started_at";
    fold.disabled = !grouped;
    const isFolded = (/** @type {string} */ group) => folded !== flipped.has(group);
    fill(
      list,
      runs.length
        ? runTable(
            { runs, columns: shown, selected, sort, order, grouped, isFolded },
            { sort: sortBy, select, selectAll, fold: flip, change },
          )
        : nothing(),
    );
    renderActions();
    renderPages(found.total);
  }

  function nothing() {
    if (filters.any(wanted))
      return make(
        "p",
        { class: "empty" },
        "No run matches the filters. ",
        make(
          "button",
          { type: "button", class: "link", click: () => go({ ...state(), ...address(filters.none()) }) },
          "Show all runs",
        ),
      );
    return make(
      "div",
      { class: "empty" },
      make("p", {}, "No run is stored yet."),
      make(
        "p",
        {},
        make(
          "a",
          { class: "button primary", href: router.link(["scenarios", "quickstart"]) },
          "Run the scenario quickstart",
        ),
        " or in a terminal: ",
        make("code", {}, "netkv scenario run quickstart"),
      ),
    );
  }

  /** @param {string[]} chosen */
  function choose(chosen) {
    columns.keep(chosen.length ? chosen : columns.USUAL);
    go({ ...state(), col: chosen });
  }

  /** @param {string} by */
  function sortBy(by) {
    const turned = sort === by ? (order === "descending" ? "ascending" : "descending") : "descending";
    go({
      ...state(),
      sort: by === "started_at" ? null : by,
      order: turned === "descending" ? null : turned,
      page: null,
    });
  }

  /** @param {string} group */
  function flip(group) {
    if (!flipped.delete(group)) flipped.add(group);
    router.remember(state());
    render();
  }

  /** @param {RunHead} run @param {boolean} on @param {boolean} range */
  function select(run, on, range) {
    const runs = found?.runs ?? [];
    const from = runs.findIndex((each) => each.id === last);
    const to = runs.findIndex((each) => each.id === run.id);
    last = run.id;
    selectAll(range && from >= 0 ? runs.slice(Math.min(from, to), Math.max(from, to) + 1) : [run], on);
  }

  /** @param {RunHead[]} runs @param {boolean} on */
  function selectAll(runs, on) {
    for (const run of runs) {
      if (on) selected.set(run.id, run);
      else selected.delete(run.id);
    }
    render();
  }

  /** @param {RunHead} run @param {object} what */
  async function change(run, what) {
    const changed = /** @type {RunHead} */ (await send("PATCH", `/runs/${encodeURIComponent(run.id)}`, what));
    if (found) found.runs = found.runs.map((each) => (each.id === changed.id ? changed : each));
    if (selected.has(changed.id)) selected.set(changed.id, changed);
    // After the cell that was edited is closed.
    setTimeout(render);
    controls.refresh().catch(failed);
  }

  function renderActions() {
    const runs = [...selected.values()];
    const ids = runs.map((run) => run.id);
    if (!ids.length)
      return fill(
        actions,
        make("span", { class: "hint" }, "Select runs to compare, export, tag or delete them. Shift selects a range."),
      );
    const pinned = runs.filter((run) => run.pinned);
    const baseline = pinned.length === 1 && ids.length > 1 ? pinned[0].id : null;
    fill(
      actions,
      make("strong", { id: "selected" }, `${ids.length} selected`),
      make(
        "a",
        { class: "button primary", id: "compare", href: router.link(["compare"], { run: ids, baseline }) },
        "Compare",
      ),
      make("a", { class: "button", id: "figures", href: router.link(["figures"], { run: ids }) }, "Figures"),
      make(
        "span",
        { class: "exports" },
        "Export ",
        ...FORMATS.map((format) =>
          make(
            "a",
            { href: url("/export", { run: ids, format }), download: "", id: `export-${format}` },
            format.toUpperCase().replace("PARQUET", "Parquet"),
          ),
        ),
      ),
      make(
        "button",
        {
          type: "button",
          id: "tag",
          click: () =>
            askTags(runs, (add, remove) => send("POST", "/runs/tag", { runs: ids, add, remove }).then(changed)),
        },
        "Tag …",
      ),
      make(
        "button",
        {
          type: "button",
          id: "delete",
          class: "danger",
          click: () => confirmDelete(runs, () => send("POST", "/runs/delete", { runs: ids }).then(deleted)),
        },
        "Delete …",
      ),
      make(
        "button",
        { type: "button", class: "quiet", id: "select-none", click: () => selectAll(runs, false) },
        "Select none",
      ),
    );
  }

  function changed() {
    controls.refresh().catch(failed);
    return load();
  }

  function deleted() {
    selected.clear();
    return changed();
  }

  /** @param {number} runs */
  function renderPages(runs) {
    const pageCount = Math.ceil(runs / PAGE);
    pages.hidden = pageCount < 2 && page === 0;
    const to = (/** @type {number} */ number) => go({ ...state(), page: number || null });
    fill(
      pages,
      make("button", { type: "button", id: "previous", disabled: page === 0, click: () => to(page - 1) }, "Previous"),
      make(
        "span",
        { class: "hint" },
        `${count(page * PAGE + 1)} to ${count(Math.min(runs, (page + 1) * PAGE))} of ${count(runs)}`,
      ),
      make(
        "button",
        { type: "button", id: "next", disabled: page + 1 >= pageCount, click: () => to(page + 1) },
        "Next",
      ),
    );
  }

  // An edited cell holds back newer states; they are shown when it is left.
  list.addEventListener("focusout", () => setTimeout(() => stale && render()));
  let before = "";
  const ends = [
    jobs.watch(({ active, ended }) => {
      const now = JSON.stringify(
        [active, ended].map((all) =>
          all.map((job) => [job.id, job.state, job.runs.map((run) => [run.id, run.status])]),
        ),
      );
      if (before && now !== before) changed();
      before = now;
    }),
    stream.on("sample", ({ run, sample }) => live(list, run, sample)),
    stream.on("dropped", () => load()),
  ];
  controls.refresh().catch(failed);
  return {
    show,
    close() {
      newest += 1;
      controls.close();
      document.querySelectorAll("dialog").forEach((dialog) => dialog.close());
      for (const end of ends) end();
    },
  };
}

/** @param {string[]} one @param {string[]} other */
function same(one, other) {
  return one.length === other.length && one.every((each, at) => each === other[at]);
}
