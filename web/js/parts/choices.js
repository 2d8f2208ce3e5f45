// What the user has chosen to see in the charts of a view: parts of their axes, and lines that are hidden. All of it is
// in the address of the view, so that a link shows the same.

import * as router from "../core/router.js";

/** @typedef {[number, number]} Range */

/** Significant digits of the ends of an axis in the address: a chart has fewer pixels. */
const DIGITS = 6;

/**
 * The choices of a view. In its address they are
 *
 * - `zoom=FROM,TO`: the part of the time axis that all charts over time show together;
 * - `width=CHART:FROM,TO` and `height=CHART:FROM,TO`: the part of the horizontal axis of another chart, and of the
 *   vertical axis of any; of several charts with `;` in between;
 * - `hidden=CHART:NAME,NAME`: lines that a click on the legend has hidden.
 */
export class Choices {
  constructor() {
    /** Seconds from and to; null: everything. @type {Range | null} */
    this.time = null;
    /** By the id of the chart; without an entry everything is shown. @type {Map<string, Range>} */
    this.widths = new Map();
    /** @type {Map<string, Range>} */
    this.heights = new Map();
    /** @type {Map<string, string[]>} */
    this.hidden = new Map();
    /** Number of the newest change. plotly keeps what the user has done to a chart only until then. */
    this.revision = 0;
    this.text = JSON.stringify(this.parameters());
    /** @type {Set<() => void>} */
    this.listeners = new Set();
  }

  /** @param {() => void} listener called after each change @returns {() => void} ends it */
  watch(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** The choices as parameters of the address; empty: everything is shown. */
  parameters() {
    const rounded = (/** @type {Range} */ range) => range.map((end) => String(Number(end.toPrecision(DIGITS))));
    return {
      zoom: this.time?.map((seconds) => Number(seconds.toFixed(3))).join() ?? "",
      width: written(this.widths, rounded),
      height: written(this.heights, rounded),
      hidden: written(this.hidden, (names) => names),
    };
  }

  /** The user has changed a choice: it is written into the address and shown. */
  changed() {
    const parameters = this.parameters();
    this.text = JSON.stringify(parameters);
    router.change(parameters);
    this.notify();
  }

  /** These charts show another metric, or another run, with other heights. @param {string[]} charts */
  forgetHeights(...charts) {
    const gone = charts.filter((chart) => this.heights.delete(chart));
    if (gone.length) this.changed();
  }

  /** Shows what an address has. @param {URLSearchParams} query */
  follow(query) {
    const given = Object.fromEntries(Object.keys(this.parameters()).map((name) => [name, query.get(name) ?? ""]));
    const text = JSON.stringify(given);
    if (text === this.text) return;
    this.text = text;
    this.time = rangeOf(given.zoom.split(","));
    this.widths = read(given.width, rangeOf);
    this.heights = read(given.height, rangeOf);
    this.hidden = read(given.hidden, (names) => names);
    this.notify();
  }

  notify() {
    this.revision += 1;
    for (const each of this.listeners) each();
  }
}

/** @param {string[]} ends @returns {Range | null} null: they are none */
function rangeOf(ends) {
  const [from, to] = ends.map(Number);
  return ends.length === 2 && ends.every((end) => end.trim()) && from < to ? [from, to] : null;
}

/** @template T @param {Map<string, T>} choices by chart @param {(choice: T) => string[]} parts */
function written(choices, parts) {
  return [...choices].map(([chart, choice]) => `${chart}:${parts(choice).map(encodeURIComponent).join()}`).join(";");
}

/**
 * @template T
 * @param {string} text what `written` returns
 * @param {(parts: string[]) => T | null} choice null: it is left out
 * @returns {Map<string, T>}
 */
function read(text, choice) {
  const found = new Map();
  for (const each of text.split(";")) {
    const [chart, parts] = each.split(":");
    const value = parts ? choice(parts.split(",").map(decoded)) : null;
    if (value !== null) found.set(chart, value);
  }
  return found;
}

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
