// The part of the time axis that the charts of a view show together: zooming one of them zooms all.

import * as router from "../core/router.js";

/** The zoom of some charts. */
export class Zoom {
  /** @param {(range: [number, number] | null) => void} [chosen] called when the user has changed it */
  constructor(chosen = () => {}) {
    /** Seconds from and to; null: everything. @type {[number, number] | null} */
    this.range = null;
    /** Number of the newest change. plotly keeps what the user has chosen in a chart only until then. */
    this.revision = 0;
    this.chosen = chosen;
    /** @type {Set<() => void>} */
    this.listeners = new Set();
  }

  /** @param {() => void} listener called after each change @returns {() => void} ends it */
  watch(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** What the user has chosen. @param {[number, number] | null} range */
  choose(range) {
    this.set(range);
    this.chosen(range);
  }

  /** @param {[number, number] | null} range */
  set(range) {
    this.range = range;
    this.revision += 1;
    for (const each of this.listeners) each();
  }
}

/** The zoom of a view's charts over time, which is in its address as `zoom=FROM,TO`. */
export class ZoomOfAddress extends Zoom {
  constructor() {
    super((range) => {
      this.text = range?.map((seconds) => Number(seconds.toFixed(3))).join() ?? "";
      router.change({ zoom: this.text });
    });
    this.text = "";
  }

  /** Shows what an address has. @param {URLSearchParams} query */
  follow(query) {
    const text = query.get("zoom") ?? "";
    if (text === this.text) return;
    this.text = text;
    const ends = text.split(",").map(Number);
    this.set(ends.length === 2 && ends[0] < ends[1] ? [ends[0], ends[1]] : null);
  }
}
