// What a sample says about a node and a link, for drawing, table and details.

import { NOTHING, count, rate } from "../../core/format.js";

/** @typedef {import("../../core/api.js").Schemas} Schemas */
/** @typedef {Schemas["LabNode"]} Node */
/** @typedef {import("../../core/labs.js").Known} Known */
/** @typedef {"up" | "down" | "free" | "unknown"} State */

/** A word and a mark for each state: colour is not the only difference. */
export const WORDS = { up: "running", down: "down", free: "not used", unknown: "no answer" };
export const MARKS = { up: "●", down: "✕", free: "○", unknown: "?" };

/** @param {Node} node @param {Known | null} known @returns {State} */
export function stateOf(node, known) {
  if (known && !known.update.answers) return "unknown";
  if (node.kind === "external-client") return programOf(node, known) ? "up" : "free";
  const running = known?.update.running[node.name] ?? node.running;
  return running ? "up" : "down";
}

/** The program at an external client: known since the lab was loaded, or seen in the newest sample. @param {Node} node @param {Known | null} known */
function programOf(node, known) {
  return node.program ?? (known?.samples.at(-1)?.programs[node.name] ? "a program" : null);
}

/** The number below the name of a node, with its unit. @param {Node} node @param {Known | null} known */
export function figureOf(node, known) {
  const sample = known?.samples.at(-1);
  const state = stateOf(node, known);
  if (state === "down" || state === "unknown") return WORDS[state];
  if (node.kind === "external-client") {
    const rates = sample?.programs[node.name];
    return state === "free" ? "not used" : rates ? `${short(rates.from_per_s)} frames/s` : (node.program ?? "");
  }
  if (!sample) return WORDS[state];
  switch (node.kind) {
    case "switch":
      return sample.switches[node.name] ? `${short(sample.switches[node.name].received_per_s)} frames/s` : "";
    case "servers":
    case "card":
    case "redis":
      return `${short(loads(node, sample).reduce((sum, each) => sum + each, 0))} ops/s`;
    case "client":
    case "client-card":
      return `${short(sample.throughput)} ops/s`;
    case "controller":
      return `${count(sample.cached)} cached`;
    default:
      return sample.links[node.name] ? `${short(sample.links[node.name].to_per_s)} frames/s` : "";
  }
}

/** Load of each storage server of a node. @param {Node} node @param {Schemas["LabSample"] | undefined} sample */
export function loads(node, sample) {
  return node.servers.map((server) => sample?.server_load[server] ?? 0);
}

/** @typedef {{ to: number, from: number, toBytes: number | null, fromBytes: number | null }} Rates */

/**
 * What crosses these links together, away from the switch and towards it; `null` bytes: not counted.
 *
 * @param {string[]} names of the nodes at their ends, `a:b` of a cable
 * @param {Schemas["LabSample"] | undefined} sample
 * @returns {Rates | null}
 */
export function linkRates(names, sample) {
  const found = names.map((name) => sample?.links[name]).filter((each) => each !== undefined);
  if (!found.length) return null;
  const sum = (/** @type {(number | null)[]} */ values) =>
    values.includes(null) ? null : values.reduce((all, each) => (all ?? 0) + (each ?? 0), 0);
  return {
    to: found.reduce((all, each) => all + each.to_per_s, 0),
    from: found.reduce((all, each) => all + each.from_per_s, 0),
    toBytes: sum(found.map((each) => each.to_bytes_per_s)),
    fromBytes: sum(found.map((each) => each.from_bytes_per_s)),
  };
}

/** The name of a link in samples. @param {{ kind: string, a: string, b: string }} link */
export function linkName({ kind, a, b }) {
  return kind === "cable" ? `${a}:${b}` : b;
}

/** `12,345 frames/s, 9.88 Mbit/s`. @param {number} frames @param {number | null} bytes per second */
export function flow(frames, bytes) {
  return `${rate(frames)} frames/s, ${bytes == null ? "bit/s not known" : bits(bytes)}`;
}

/** A rate in bit/s, with SI prefixes as usual for links. @param {number | null} bytes per second */
export function bits(bytes) {
  return bytes == null ? NOTHING : `${scaled(8 * bytes)}bit/s`;
}

/** `12.3 M`: three digits and a prefix. @param {number} value */
function scaled(value) {
  const at = PREFIXES.findLastIndex(([least]) => value >= least);
  const [unit, prefix] = PREFIXES[Math.max(at, 0)];
  return `${Number((value / unit).toPrecision(3))} ${prefix}`;
}

/** @type {[number, string][]} */
const PREFIXES = [
  [1, ""],
  [1e3, "k"],
  [1e6, "M"],
  [1e9, "G"],
];

/** `12.5 k`: three digits. @param {number} value */
export function short(value) {
  if (value < 1000) return rate(value);
  const [unit, name] = value < 1e6 ? [1e3, "k"] : [1e6, "M"];
  return `${Number((value / unit).toPrecision(3))}${name}`;
}

/** @param {number} value per second */
export function bytes(value) {
  if (value < 1024) return `${rate(value)} B/s`;
  const [unit, name] = value < 1024 ** 2 ? [1024, "KiB/s"] : [1024 ** 2, "MiB/s"];
  return `${Number((value / unit).toPrecision(3))} ${name}`;
}
