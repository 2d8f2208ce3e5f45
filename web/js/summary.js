// The comparison of the runs that are shown, verdicts, and the list of events.

import { get } from "./api.js";
import { byId, make, swatch, table } from "./dom.js";
import { bandwidth, count, factor, label, latency, number, params, rate, share, time } from "./format.js";
import { looksOf } from "./looks.js";
import { recoveries } from "./recovery.js";
import { seriesOf } from "./store.js";

const BEFORE_RATIO = ["scheme", "ops/s"];
const AFTER_RATIO = ["mean latency", "p99", "hit ratio", "predicted", "load max/mean", "control plane", "lost", "stale", "writes lost"];
let newest = 0;

/** Draws all for these runs; figures come from the server, which knows the rules of comparison. */
export async function render(runs) {
  byId("summary-title").textContent = title(runs);
  renderEvents(runs);
  const mine = ++newest;
  const finished = runs.filter((run) => run.status !== "running");
  const compared = await comparison(runs, finished);
  const verdicts = await verdictsOf(runs);
  // Another selection may have been made while these came.
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
    const text = runs.length ? "Figures come when the run is over." : "Tick runs at the left, or start one.";
    return [make("p", { class: "empty" }, text)];
  }
  const query = finished.map((run) => `run=${encodeURIComponent(run.id)}`).join("&");
  let compared;
  try {
    compared = await get(`/api/compare?${query}`);
  } catch (error) {
    return [make("p", { class: "problem" }, error.message)];
  }
  const failures = finished.filter((run) => run.status === "failed");
  const { rows, baseline, note } = compared;
  const headings = [...BEFORE_RATIO, baseline ? `ratio to ${baseline}` : "ratio", ...AFTER_RATIO];
  const looks = looksOf(runs);
  return [
    table(headings, rows.map((row) => cells(row, runs, looks))),
    note ? make("p", { class: "hint" }, note) : "",
    ...recoveries(rows, looks),
    ...failures.map((run) => make("p", { class: "problem" }, `${label(run)} failed: ${run.reason ?? "no reason is known"}`)),
  ];
}

function cells(row, runs, looks) {
  const [first] = row.runs;
  const point = params({ ...row.params, ...row.settings });
  const repeats = row.runs.length > 1 ? ` (${row.runs.length} runs)` : "";
  const mode = make("small", {}, runs.find((run) => run.id === first)?.mode ?? "");
  const name = make("td", { class: "strong" }, swatch(looks.get(first)), `${row.scheme}${point ? ` · ${point}` : ""}${repeats}`, mode);
  const better = row.ratio && !row.baseline && row.ratio.mean >= 1;
  return [
    name,
    interval(row.throughput_ops, rate),
    interval(row.ratio, factor, better ? "strong good" : ""),
    interval(row.latency_mean_us, latency),
    interval(row.latency_p99_us, latency),
    interval(row.hit_ratio, share),
    interval(row.predicted_hit_ratio, share),
    interval(row.load_imbalance, number),
    interval(row.control_plane_mib_per_s, bandwidth),
    count(row.lost_ops),
    zero(row.stale_reads + row.phantom_reads),
    zero(row.acked_writes_lost),
  ];
}

/** A mean and, below it, the half width of its 95% confidence interval. */
function interval(value, show, kind = "") {
  const spread = value?.ci95 == null ? null : make("small", {}, `± ${show(value.ci95)}`);
  return make("td", { class: kind }, show(value?.mean), spread);
}

/** A figure that has to be 0. */
function zero(value) {
  return make("td", { class: value ? "bad" : "" }, count(value));
}

async function verdictsOf(runs) {
  const groups = [...new Set(runs.filter((run) => run.status !== "running").map((run) => run.group))];
  const all = await Promise.all(groups.map((group) => get(`/api/groups/${encodeURIComponent(group)}/verdicts`).catch(() => ({ thresholds: [] }))));
  return all
    .flatMap((each) => each.thresholds)
    .map((verdict) =>
      make("li", { title: verdict.detail }, make("span", { class: verdict.ok ? "good" : "bad" }, verdict.ok ? "✓ met " : "✗ missed "), make("code", {}, verdict.expr)),
    );
}

/** What happened in the runs that are shown. */
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
      : make("p", { class: "empty" }, "Nothing happened."),
  );
}
