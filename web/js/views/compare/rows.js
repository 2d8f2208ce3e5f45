// The comparison as tables: figures with ratios, the settings that differ, verdicts, ends of runs, violations, events.

import { make, scrolling, swatch, table } from "../../core/dom.js";
import { factor, label, params, time } from "../../core/format.js";
import { columns, interval } from "../../core/metrics.js";
import { kindCell } from "../../parts/events.js";

/** @typedef {import("../../core/api.js").Schemas} Schemas */
/** @typedef {Schemas["RunHead"]} RunHead */
/** @typedef {Schemas["ComparedRow"]} Row */
/** @typedef {Map<string, import("../../core/looks.js").Look>} Looks */

/** Index of the ratio in a row: after the throughput. */
const RATIO = 2;
/** Violations that are shown in full. */
const MOST = 3;

/**
 * @param {Schemas["ComparedRuns"]} compared
 * @param {RunHead[]} runs
 * @param {Looks} looks
 */
export function comparison({ rows, baseline, note }, runs, looks) {
  const shown = columns(rows);
  const headings = ["scheme", ...shown.map((column) => column.heading)];
  headings.splice(RATIO, 0, baseline ? `ratio to ${baseline}` : "ratio");
  const found = table(
    headings,
    rows.map((row) => cells(row, shown, runs, looks)),
  );
  found.className = "compared";
  return [scrolling("Compared runs as a table", found), note ? make("p", { class: "hint note" }, note) : null];
}

/** @param {Row} row @param {ReturnType<typeof columns>} shown @param {RunHead[]} runs @param {Looks} looks */
function cells(row, shown, runs, looks) {
  const [first] = row.runs;
  const repeats = row.runs.length > 1 ? ` (${row.runs.length} runs)` : "";
  const about = [
    runs.find((run) => run.id === first)?.mode ?? "",
    row.failed ? `${row.failed} failed` : "",
    row.cancelled ? `${row.cancelled} cancelled` : "",
    row.baseline ? "baseline" : "",
  ];
  const name = make(
    "td",
    { class: "strong", title: row.runs.join("\n") },
    swatch(looks.get(first)),
    `${nameOf(row)}${repeats}`,
    make("small", {}, about.filter(Boolean).join(" · ")),
  );
  const better = row.ratio && !row.baseline && row.ratio.mean >= 1;
  const found = [name, ...shown.map((column) => column.cell(row))];
  found.splice(RATIO, 0, interval(row.ratio, factor, better ? "strong good" : ""));
  return found;
}

/** A row by scheme and what distinguishes it. @param {Row} row */
export function nameOf(row) {
  const point = params({ ...row.params, ...row.settings });
  return `${row.scheme}${point ? ` · ${point}` : ""}`;
}

/** The settings that differ, a row each. @param {Schemas["ComparedRuns"]} compared @param {Looks} looks */
export function differences({ rows, different }, looks) {
  if (rows.length < 2) return null;
  const title = make("h2", {}, "What differs ", make("span", { class: "unit" }, "beside the scheme"));
  if (!different.length)
    return make(
      "section",
      { class: "card", id: "differences" },
      title,
      make("p", { class: "empty" }, "Nothing: these runs have the same settings, source and machine."),
    );
  const heads = rows.map((row) =>
    make("th", { scope: "col", title: row.runs.join("\n") }, swatch(looks.get(row.runs[0])), row.scheme),
  );
  const body = different.map(({ path, values }) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, path),
      ...values.map((value) => make("td", { title: words(value) }, brief(words(value)))),
    ),
  );
  const found = make(
    "table",
    {},
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "option"), ...heads)),
    make("tbody", {}, ...body),
  );
  return make("section", { class: "card", id: "differences" }, title, scrolling("Settings that differ", found));
}

/** @param {unknown} value */
function words(value) {
  return value == null ? "–" : typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** @param {string} text */
function brief(text) {
  return text.length > 40 ? `${text.slice(0, 39)}…` : text;
}

/** @param {Schemas["Threshold"][]} all */
export function verdicts(all) {
  return all.map((verdict) =>
    make(
      "li",
      { title: verdict.detail },
      make("span", { class: verdict.ok ? "good" : "bad" }, verdict.ok ? "✓ met " : "✗ missed "),
      make("code", {}, verdict.expr),
      verdict.ok ? null : make("span", { class: "hint" }, ` ${verdict.detail}`),
    ),
  );
}

/** Runs that did not end well, with the reason. @param {RunHead[]} runs */
export function ends(runs) {
  return runs.flatMap((run) => {
    if (run.status === "failed")
      return [make("p", { class: "problem" }, `${label(run)} failed: ${run.reason ?? "no reason is known"}`)];
    if (run.status === "cancelled")
      return [make("p", { class: "hint" }, `${label(run)} was cancelled; it has its samples so far.`)];
    if (run.status === "running")
      return [
        make(
          "p",
          { class: "hint" },
          `${label(run)} is in progress. It is in the charts; the table has it when it has ended.`,
        ),
      ];
    return [];
  });
}

/** What the checker found in runs that are not linearizable, and how to repeat them. @param {RunHead[]} runs */
export function violations(runs) {
  const wrong = runs.filter((run) => run.linearizable === false);
  if (!wrong.length) return null;
  return make(
    "section",
    { class: "card", id: "violations" },
    make("h2", { class: "bad" }, "Not linearizable"),
    ...wrong.flatMap(ofRun),
  );
}

/** @param {RunHead} run */
function ofRun(run) {
  const number = /** @type {any} */ (run).violation_count;
  return [
    make("h3", {}, `${label(run)}: ${number} ${number === 1 ? "violation" : "violations"}`),
    ...run.violations.slice(0, MOST).map(violation),
    make("p", { class: "hint" }, ...replay(run)),
  ];
}

/** @param {Schemas["Violation"]} found */
function violation({ kind, key, text, operations }) {
  const starts = operations.map((each) => each.start_ns).filter((ns) => ns != null);
  const origin = starts.length ? Math.min(...starts) : null;
  const at = (/** @type {number | null} */ ns) =>
    ns == null || origin == null ? "?" : ((ns - origin) / 1000).toFixed(1);
  const rows = operations.map((each) => [
    `${at(each.start_ns)} to ${at(each.end_ns)}`,
    `${each.client}/${each.request}`,
    each.what,
    !each.writer ? "–" : each.writer.client === 0 ? "initial" : `${each.writer.client}/${each.writer.request}`,
    each.result,
  ]);
  return make(
    "details",
    { class: "violation", open: true },
    make("summary", {}, make("span", { class: "bad" }, kind), ` on key ${key}`),
    make("p", {}, text),
    scrolling("Operations", table(["time (µs)", "client/request", "operation", "value of", "result"], rows)),
  );
}

/** Instructions to repeat a run, as `netkv runs show` has them. @param {RunHead} run */
function replay(run) {
  const command = `netkv scenario run ${run.scenario} --scheme ${run.scheme} --mode ${run.mode} --seed ${run.seed}`;
  const how =
    run.mode === "sim"
      ? "replays it exactly"
      : "sends the same operations again, though a live run never has the same times";
  return [`Seed ${run.seed} ${how}: `, make("code", {}, command), " (and the same --set options, if there were any)"];
}

/**
 * @param {{ run: RunHead, events: Schemas["RunEvent"][] }[]} shown
 * @param {Looks} looks
 */
export function events(shown, looks) {
  const rows = shown.flatMap(({ run, events: own }) =>
    own.map((event) => ({ event, look: looks.get(run.id), mode: run.mode })),
  );
  rows.sort((a, b) => a.event.time - b.event.time);
  if (!rows.length) return make("p", { class: "empty" }, "No events.");
  return table(
    ["at", "what", "node", "details"],
    rows.map(({ event, look, mode }) => [
      make("td", {}, swatch(look), time(event.time, mode)),
      kindCell(event.kind),
      event.node,
      event.text,
    ]),
  );
}
