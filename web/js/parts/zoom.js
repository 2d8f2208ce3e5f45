// The part of the time axis that the charts of a view show together: zooming one of them zooms all.

/** The zoom of the charts of a view. */
export class Zoom {
  constructor() {
    /** Seconds from and to; null: everything. @type {[number, number] | null} */
    this.range = null;
    /** Number of the newest change. plotly keeps what the user has chosen in a chart only until then. */
    this.revision = 0;
    /** @type {Set<() => void>} */
    this.listeners = new Set();
  }

  /** @param {() => void} listener called after each change @returns {() => void} ends it */
  watch(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** @param {[number, number] | null} range */
  set(range) {
    this.range = range;
    this.revision += 1;
    for (const each of this.listeners) each();
  }
}
