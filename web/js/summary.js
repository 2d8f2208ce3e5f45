// The comparison of the runs that are shown, verdicts, and the list of events.

import { get } from "./api.js";
import { byId, make, swatch, table } from "./dom.js";
import { factor, label, params, time } from "./format.js";
import { looksOf } from "./looks.js";
import { columns, interval } from "./metrics.js";
import { recoveries } from "./recovery.js";
import { seriesOf } from "./store.js";

/** Index of the ratio in a row of the comparison: after the throughput. */
const RATIO = 2;
let newest = 0;

/** Draws the summary of these runs; the server computes the comparison. */
export async function render(runs) {
  byId("summary-title").textContent = title(runs);
  renderEvents(runs);
  const mine = ++newest;
  const finished = runs.filter((run) => run.status !== "running");
  const compared = await comparison(runs, finished);
  const verdicts = await verdictsOf(runs);
  // The selection may have changed in the meantime.
  if (mine !== newest) return;
  byId("comparison").replaceChildren(...compared);
  byId("verdicts").replaceChildren(...verdicts);
}

function title(runs) {
  if (!runs.length) return "Nothing selected";
  return [...new Set(runs.map((run) => run.title || run.scenario))].join(", ");
}

async function comparison(runs, finished) {
  if (!finished.length) {
    const text = runs.length ? "Figures are available when the run has ended." : "Select runs at the left, or start one.";
    return [make("p", { class: "empty" }, text)];
  }
  const query = finished.map((run) => `run=${encodeURIComponent(run.id)}`).join("&");
  let compared;
  try {
    compared = await get(`/api/v1/compare?${query}`);
  } catch (error) {
    return [make("p", { class: "problem" }, error.message)];
  }
  const failures = finished.filter((run) => run.status === "failed");
  const cancelled = finished.filter((run) => run.status === "cancelled");
  const { rows, baseline, note } = compared;
  const shown = columns(rows);
  const headings = ["scheme", ...shown.map((column) => column.heading)];
  headings.splice(RATIO, 0, baseline ? `ratio to ${baseline}` : "ratio");
  const looks = looksOf(runs);
  return [
    table(headings, rows.map((row) => cells(row, shown, runs, looks))),
    note ? make("p", { class: "hint" }, note) : "",
    ...recoveries(rows, looks),
    ...failures.map((run) => make("p", { class: "problem" }, `${label(run)} failed: ${run.reason ?? "no reason is known"}`)),
    ...cancelled.map((run) => make("p", { class: "hint" }, `${label(run)} was cancelled; it has its samples so far.`)),
  ];
}

function cells(row, shown, runs, looks) {
  const [first] = row.runs;
  const point = params({ ...row.params, ...row.settings });
  const repeats = row.runs.length > 1 ? ` (${row.runs.length} runs)` : "";
  const mode = make("small", {}, runs.find((run) => run.id === first)?.mode ?? "");
  const name = make("td", { class: "strong" }, swatch(looks.get(first)), `${row.scheme}${point ? ` · ${point}` : ""}${repeats}`, mode);
  const better = row.ratio && !row.baseline && row.ratio.mean >= 1;
  const found = [name, ...shown.map((column) => column.cell(row))];
  found.splice(RATIO, 0, interval(row.ratio, factor, better ? "strong good" : ""));
  return found;
}

async function verdictsOf(runs) {
  const groups = [...new Set(runs.filter((run) => run.status !== "running").map((run) => run.group))];
  const all = await Promise.all(groups.map((group) => get(`/api/v1/groups/${encodeURIComponent(group)}/verdicts`).catch(() => ({ thresholds: [] }))));
  return all
    .flatMap((each) => each.thresholds)
    .map((verdict) =>
      make("li", { title: verdict.detail }, make("span", { class: verdict.ok ? "good" : "bad" }, verdict.ok ? "✓ met " : "✗ missed "), make("code", {}, verdict.expr)),
    );
}

/** Draws the events of the selected runs. */
export function renderEvents(runs) {
  const looks = looksOf(runs);
  const rows = runs.flatMap((run) => {
    const events = seriesOf(run.id)?.events ?? [];
    return events.map((event) => ({ event, look: looks.get(run.id), mode: run.mode }));
  });
  rows.sort((a, b) => a.event.time - b.event.time);
  byId("events").replaceChildren(
    rows.length
      ? table(["at", "what", "node", ""], rows.map(({ event, look, mode }) => [
          make("td", {}, swatch(look), time(event.time, mode)),
          make("td", { class: { failed: "bad", killed: "bad", recovered: "good" }[event.kind] ?? "" }, event.kind),
          event.node,
          event.text,
        ]))
      : make("p", { class: "empty" }, "No events."),
  );
}
