// Several runs side by side: figures with ratios to a baseline, what differs, charts, recoveries, verdicts, events.

import { get, url } from "../core/api.js";
import { fill, make, swatch } from "../core/dom.js";
import { label } from "../core/format.js";
import * as jobs from "../core/jobs.js";
import { looksOf } from "../core/looks.js";
import { metric } from "../core/metrics.js";
import * as plotly from "../core/plotly.js";
import { afterPress } from "../core/press.js";
import * as router from "../core/router.js";
import * as series from "../core/series.js";
import { newest } from "../parts/newest.js";
import { USUAL, charts, hasLoads } from "./compare/charts.js";
import { recoveries } from "./compare/recoveries.js";
import * as rows from "./compare/rows.js";
import { problem } from "../parts/problem.js";

/** @typedef {import("../core/api.js").Schemas} Schemas */
/** @typedef {Schemas["RunHead"]} RunHead */

const FORMATS = /** @type {const} */ ([
  ["csv", "CSV"],
  ["json", "JSON"],
  ["parquet", "Parquet"],
  ["html", "HTML"],
]);

/** @param {HTMLElement} place */
export function mount(place) {
  const head = make("section", { class: "card", id: "compared" });
  const notes = make("div", { id: "notes" });
  const table = make("section", { class: "card", id: "comparison", hidden: true });
  const between = make("div", { class: "stack" });
  const pictures = charts((name) => go({ ...state(), metric: name }));
  const happened = make("div", {
    id: "events",
    class: "scroll events",
    tabindex: "0",
    role: "region",
    "aria-label": "Events",
  });
  const below = make(
    "div",
    { class: "stack", hidden: true },
    pictures.element,
    between,
    make(
      "section",
      { class: "card" },
      make("h2", {}, "Events ", make("span", { class: "unit" }, "seconds since the measured part began")),
      happened,
    ),
  );
  const broken = make("div", { class: "stack" });
  fill(
    place,
    make("h1", { class: "hidden" }, "Compare"),
    make("div", { class: "stack" }, head, notes, broken, table, below),
  );

  /** @type {string[]} */
  let ids = [];
  let baseline = "";
  let chosen = USUAL;
  /** @type {RunHead[]} in the order of the address */
  let runs = [];
  /** @type {RunHead[]} pinned runs of the same scenarios */
  let pinned = [];
  /** @type {Schemas["ComparedRuns"] | null} */
  let compared = null;
  /** @type {Schemas["LatencyHistogram"][] | null} */
  let histograms = null;
  /** @type {Schemas["Threshold"][]} */
  let verdicts = [];
  let turn = 0;
  let drawnEvents = "";

  function state() {
    return { run: ids, baseline, metric: chosen === USUAL ? null : chosen, ...pictures.choices.parameters() };
  }

  /** @param {Record<string, unknown>} query */
  function go(query) {
    router.remember(query);
    show(router.current());
  }

  /** @param {router.Route} route */
  function show({ query }) {
    const now = [...new Set(query.getAll("run"))];
    const same = now.join("\n") === ids.join("\n") && (query.get("baseline") ?? "") === baseline && turn > 0;
    ids = now;
    baseline = query.get("baseline") ?? "";
    chosen = query.get("metric") ?? USUAL;
    pictures.choices.follow(query);
    try {
      metric(chosen);
    } catch {
      chosen = USUAL;
    }
    if (same) draw();
    else load();
  }

  async function load() {
    const mine = ++turn;
    if (!ids.length) return nothing(mine);
    // At once, and in this order, because a browser has few connections to a server: what the runs are, the library for
    // the charts (they try again if it fails), the series.
    const found = get("/runs", { id: ids, limit: ids.length });
    plotly.load().catch(() => {});
    for (const id of ids) series.seriesOf(id, { whole: false });
    try {
      const stored = /** @type {Schemas["Runs"]} */ (await found);
      if (mine !== turn) return;
      const byId = new Map(stored.runs.map((run) => [run.id, run]));
      runs = ids.map((id) => byId.get(id)).filter((run) => run !== undefined);
      fill(
        notes,
        ...ids
          .filter((id) => !byId.has(id))
          .map((id) => make("p", { class: "problem" }, `There is no run '${id}'. It may have been deleted.`)),
      );
      afterPress(() => mine === turn && renderHead());
      draw();
      if (table.hidden) fill(table, make("p", { class: "empty" }, "Comparing …"));
      table.hidden = !runs.length;
      await loadComparison(mine);
    } catch (error) {
      if (mine === turn) failed(error);
    }
  }

  /** What the server computes over all finished runs. @param {number} mine */
  async function loadComparison(mine) {
    const finished = runs.filter((run) => run.status !== "running").map((run) => run.id);
    const groups = [...new Set(runs.filter((run) => run.status !== "running").map((run) => run.group))];
    const scenarios = [...new Set(runs.map((run) => run.scenario))];
    const [answer, latencies, judged, pins] = await Promise.all([
      finished.length ? get("/compare", { run: finished, baseline }) : null,
      finished.length ? get("/histograms", { run: finished }) : [],
      Promise.all(
        groups.map((group) => get(`/groups/${encodeURIComponent(group)}/verdicts`).catch(() => ({ thresholds: [] }))),
      ),
      Promise.all(scenarios.map((scenario) => get("/runs", { scenario, pinned: true, limit: 50 }))),
    ]);
    // Another selection may have been shown in the meantime.
    if (mine !== turn) return;
    compared = answer;
    histograms = latencies;
    verdicts = judged.flatMap((each) => each.thresholds);
    pinned = pins.flatMap((each) => each.runs);
    // A baseline that is not among the runs is a row of the table.
    afterPress(() => {
      if (mine !== turn) return;
      renderHead();
      renderTables();
    });
    draw();
  }

  /** @param {unknown} error */
  function failed(error) {
    notes.append(problem(error));
  }

  /** @param {number} mine */
  async function nothing(mine) {
    runs = [];
    table.hidden = below.hidden = true;
    fill(notes);
    fill(broken);
    fill(
      head,
      make("h2", {}, "Nothing to compare"),
      make(
        "p",
        { class: "hint" },
        "Select runs in ",
        make("a", { href: router.link(["runs"]) }, "Runs"),
        ", or compare the runs of a scenario:",
      ),
    );
    try {
      const list = await newest("compare");
      if (mine === turn) head.append(list);
    } catch (error) {
      if (mine === turn) failed(error);
    }
  }

  function renderHead() {
    const looks = looksOf(runs);
    const titles = [...new Set(runs.map((run) => run.title || run.scenario))];
    const own = runs.map((run) => run.id);
    fill(
      head,
      make(
        "div",
        { class: "head" },
        make("h2", { id: "title" }, titles.join(", ") || "Nothing to compare"),
        make(
          "p",
          { class: "buttons" },
          baselines(),
          make("a", { class: "button", id: "to-figures", href: router.link(["figures"], { run: own }) }, "Figures"),
          make(
            "span",
            { class: "exports" },
            "Export ",
            ...FORMATS.map(([format, text]) =>
              make("a", { href: url("/export", { run: own, format }), download: "", id: `export-${format}` }, text),
            ),
          ),
        ),
      ),
      make("ul", { class: "chips", "aria-label": "Compared runs" }, ...runs.map((run) => chip(run, looks.get(run.id)))),
    );
  }

  /** @param {RunHead} run @param {import("../core/looks.js").Look | undefined} look */
  function chip(run, look) {
    const rest = ids.filter((id) => id !== run.id);
    const without = make(
      "button",
      {
        type: "button",
        class: "without",
        id: `without-${run.id}`,
        "aria-label": `Leave out ${label(run)}`,
        click: () => go({ ...state(), run: rest }),
      },
      "×",
    );
    return make(
      "li",
      { class: "chip", title: `${run.id}${run.note ? `\n${run.note}` : ""}` },
      swatch(look),
      run.pinned ? "★ " : null,
      label(run),
      run.status === "done" ? null : make("span", { class: `state state-${run.status}` }, run.status),
      without,
    );
  }

  /** The choice of the baseline: the rule, a scheme, or a run. */
  function baselines() {
    const schemes = [...new Set(runs.map((run) => run.scheme))];
    const others = pinned.filter((run) => !ids.includes(run.id));
    const option = (/** @type {string} */ value, /** @type {string} */ text) =>
      make("option", { value, selected: value === baseline }, text);
    const group = (/** @type {string} */ text, /** @type {HTMLOptionElement[]} */ options) =>
      options.length ? make("optgroup", { label: text }, ...options) : null;
    const known =
      baseline === "" || schemes.includes(baseline) || [...runs, ...others].some((run) => run.id === baseline);
    const select = make(
      "select",
      { id: "baseline", change: () => go({ ...state(), baseline: select.value }) },
      option("", "first scheme of the scenario"),
      group(
        "Schemes",
        schemes.map((scheme) => option(scheme, scheme)),
      ),
      group(
        "Pinned runs",
        others.map((run) => option(run.id, `★ ${label(run)} (${run.id})`)),
      ),
      group(
        "Runs",
        runs.map((run) => option(run.id, `${run.pinned ? "★ " : ""}${label(run)} (${run.id})`)),
      ),
      known ? null : option(baseline, baseline),
    );
    return make("label", { class: "baseline" }, "Ratios to ", select);
  }

  function renderTables() {
    const shown = everyRun();
    const looks = looksOf(shown);
    const finished = runs.filter((run) => run.status !== "running");
    fill(
      table,
      ...(compared
        ? rows.comparison(compared, shown, looks)
        : [make("p", { class: "empty" }, "Figures are available when a run has ended.")]),
      verdicts.length ? make("ul", { class: "plain", id: "verdicts" }, ...rows.verdicts(verdicts)) : null,
      ...rows.ends(runs),
    );
    fill(broken, rows.violations(finished));
    fill(between, ...(compared ? [recoveries(compared.rows, looks), rows.differences(compared, looks)] : []));
  }

  /** The runs, and a baseline that is not one of them: it has a row and a style. */
  function everyRun() {
    const other = pinned.find((run) => run.id === baseline && !ids.includes(run.id));
    return other ? [...runs, other] : runs;
  }

  function draw() {
    below.hidden = !runs.length;
    const looks = looksOf(everyRun());
    const shown = runs.flatMap((run) => {
      const found = series.seriesOf(run.id, { whole: !hasLoads(run) });
      const look = looks.get(run.id);
      return found && look ? [{ run, look, series: found }] : [];
    });
    pictures.update(shown, chosen, histograms, shown.length === runs.length);
    const key = shown.map(({ run, series: own }) => `${run.id} ${own.events.length}`).join();
    if (key === drawnEvents) return;
    drawnEvents = key;
    fill(
      happened,
      rows.events(
        shown.map(({ run, series: own }) => ({ run, events: own.events })),
        looks,
      ),
    );
  }

  const off = [
    // A run that has ended has figures. The jobs of terminals are no longer listed when they have ended.
    jobs.watch(({ active, ended }) => {
      const now = new Map([...active, ...ended].flatMap((job) => job.runs).map((run) => [run.id, run.status]));
      const changed = runs.filter((run) =>
        run.status === "running" ? now.get(run.id) !== "running" : now.has(run.id) && now.get(run.id) !== run.status,
      );
      if (!changed.length) return;
      for (const run of changed) series.reload(run.id);
      load();
    }),
    series.watch((id) => ids.includes(id) && draw()),
  ];
  return {
    show,
    close() {
      turn += 1;
      for (const end of off) end();
      pictures.close();
    },
  };
}
