// The charts of a lab over time, with its outages and faults shaded.

import { make } from "../../core/dom.js";
import { colour } from "../../core/theme.js";
import { Chart } from "../../parts/chart.js";
import { disturbances } from "../../parts/disturbances.js";
import { DASHES, area, digits, heat, line } from "../../parts/traces.js";
import { Choices } from "../../parts/choices.js";

/** @typedef {import("../../core/api.js").Schemas} Schemas */
/** @typedef {import("../../core/labs.js").Sample} Sample */

const MAX_GAP_S = 15;
/** Programs have the dashes after the solid one. */
const PROGRAM_DASHES = DASHES.slice(1);
const PERCENTILES = /** @type {const} */ ([
  ["p50", "solid"],
  ["p99", "dash"],
]);

/** All charts; `update` draws those of a lab. */
export function charts() {
  const choices = new Choices();
  const throughput = new Chart({
    id: "lab-throughput",
    title: "Throughput",
    unit: "operations/s of the load generator; programs: frames/s",
    wide: true,
    show: digits,
    choices,
    overTime: true,
  });
  const hits = new Chart({
    id: "lab-hits",
    title: "Hit ratio",
    unit: "of reads of load generator and programs",
    show: digits,
    choices,
    overTime: true,
  });
  const latency = new Chart({ id: "lab-latency", title: "Latency", unit: "ms", show: digits, choices, overTime: true });
  const load = new Chart({
    id: "lab-load",
    title: "Load of servers",
    unit: "operations/s, of all clients",
    wide: true,
    show: digits,
    choices,
    overTime: true,
  });
  const all = [throughput, hits, latency, load];
  return {
    element: make("div", { class: "charts" }, ...all.map((chart) => chart.element)),
    choices,
    close: () => all.forEach((chart) => chart.close()),
    /** @param {Schemas["Lab"]} lab @param {Sample[]} all */
    update(lab, all) {
      const samples = unbroken(all);
      const x = samples.map((sample) => sample.time - lab.created);
      const intervals = { ends: x, lengths: samples.map((sample) => sample.interval) };
      const over = () => {
        const { shapes, annotations } = shaded(lab, x);
        const from = x.at(0);
        return {
          shapes,
          annotations,
          x: {
            title: { text: "seconds since the lab was brought up" },
            ...(from === undefined ? {} : { range: [from, Math.max(from + 30, x.at(-1) ?? 0)] }),
          },
        };
      };
      throughput.update(
        () => ({
          ...over(),
          traces: answers(lab, samples, intervals),
          y: { rangemode: "tozero", tickformat: "~s" },
          empty: "No samples yet",
        }),
        lab.name,
      );
      hits.update(
        () => ({
          ...over(),
          annotations: [],
          traces: samples.length
            ? [
                line(
                  lab.scheme,
                  "hit ratio",
                  intervals,
                  samples.map((sample) => sample.hit_ratio),
                ),
              ]
            : [],
          y: { range: [0, 1], tickformat: ".0%" },
        }),
        lab.name,
      );
      latency.update(
        () => ({
          ...over(),
          annotations: [],
          traces: samples.length
            ? PERCENTILES.map(([name, dash]) =>
                line(
                  lab.scheme,
                  name,
                  intervals,
                  samples.map((sample) => (sample.latency_us ? sample.latency_us[name] / 1000 : null)),
                  dash,
                ),
              )
            : [],
          y: { rangemode: "tozero" },
        }),
        lab.name,
      );
      load.update(
        () => ({
          traces: heat(
            intervals,
            samples.map((sample) => sample.server_load),
          ),
          x: over().x,
          y: { title: { text: "server" }, tickformat: "d" },
          empty: "No samples yet",
        }),
        lab.name,
      );
    },
  };
}

/** The newest samples without a gap: a lab is sampled only while a client requests samples. @param {Sample[]} samples */
function unbroken(samples) {
  const first = samples.findLastIndex((sample, at) => at > 0 && sample.time - samples[at - 1].time > MAX_GAP_S);
  return first > 0 ? samples.slice(first) : samples;
}

/** Stacked: what caches and servers answer; beside it the programs at external clients. @param {Schemas["Lab"]} lab @param {Sample[]} samples @param {import("../../parts/traces.js").Intervals} over */
function answers(lab, samples, over) {
  if (!samples.length) return [];
  const names = [...new Set(samples.flatMap((sample) => Object.keys(sample.programs)))];
  const hits = samples.map((sample) => sample.hits_per_s);
  return [
    area(
      lab.scheme,
      "other operations",
      over,
      samples.map((sample) => Math.max(0, sample.throughput - sample.hits_per_s)),
      0.15,
      hits,
    ),
    area(lab.scheme, "reads answered by caches", over, hits, 0.55),
    ...names.map((name, at) => {
      const program = lab.nodes.find((node) => node.name === name)?.program;
      return {
        type: "scatter",
        name: `${name}${program ? ` (${program})` : ""}: requests`,
        x: over.ends,
        lengths: over.lengths,
        y: samples.map((sample) => sample.programs[name]?.from_per_s ?? null),
        line: { color: colour("--text"), width: 2, dash: PROGRAM_DASHES[at % PROGRAM_DASHES.length] },
        hovertemplate: `%{y:,.0f}<extra>%{fullData.name}</extra>`,
      };
    }),
  ];
}

/** Outages, recoveries and link faults, as they are shaded for runs. @param {Schemas["Lab"]} lab @param {number[]} x */
export function shaded(lab, x) {
  const events = lab.events.map((event) => ({ ...event, time: event.time - lab.created }));
  const duration = (x.at(-1) ?? 0) + 1e9;
  const series = /** @type {any} */ ({ columns: { time: x }, events });
  return disturbances([{ run: /** @type {any} */ ({ duration }), series }]);
}
