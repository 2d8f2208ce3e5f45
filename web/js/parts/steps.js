// Values of intervals as plotly draws them: a step over each interval, and a gap where there is none.

/** @typedef {import("./chart.js").Trace} Trace */

/** Share of an interval by which its beginning may differ from the end of the one before: clocks and rounding. */
const JITTER = 0.1;
/** Properties of a trace with a value for each point. */
const OF_POINTS = /** @type {const} */ (["text", "customdata"]);

/**
 * The indices of the points of a line: the end of each interval, before it its beginning where a part of the line
 * begins, and -1 where it has a gap.
 *
 * @param {number[]} ends
 * @param {number[]} lengths
 * @param {(at: number) => boolean} isKnown
 * @returns {{ x: number, at: number }[]}
 */
export function corners(ends, lengths, isKnown) {
  /** @type {{ x: number, at: number }[]} */
  const found = [];
  let end = -Infinity;
  ends.forEach((x, at) => {
    if (!isKnown(at)) {
      found.push({ x, at: -1 });
      end = -Infinity;
      return;
    }
    const begin = x - (lengths[at] ?? 0);
    if (begin > end + JITTER * lengths[at]) {
      if (Number.isFinite(end)) found.push({ x: begin, at: -1 });
      found.push({ x: begin, at });
    }
    found.push({ x, at });
    end = x;
  });
  return found;
}

/** A trace whose values are about `lengths` that end at its places, as steps; others stay. @param {Trace} trace */
export function stepped({ lengths, below, ...trace }) {
  if (!lengths) return trace;
  if (trace.z) return steppedMap(trace, lengths);
  const points = corners(trace.x, lengths, (at) => trace.y[at] != null);
  const each = (/** @type {any[]} */ column) => points.map(({ at }) => (at < 0 ? null : column[at]));
  const drawn = below ? trace.y.map((value, at) => value + below[at]) : trace.y;
  const others = OF_POINTS.filter((name) => Array.isArray(trace[name])).map((name) => [name, each(trace[name])]);
  return {
    ...trace,
    ...Object.fromEntries(others),
    x: points.map(({ x }) => x),
    y: each(drawn),
    mode: "lines",
    line: { ...trace.line, shape: "vh" },
  };
}

/** A heat map with the edges of its cells. @param {Trace} trace @param {number[]} lengths */
function steppedMap(trace, lengths) {
  const points = corners(trace.x, lengths, () => true);
  // A cell ends at each corner but the first; that at the beginning of a part is the gap before it.
  const cells = points.filter(({ at }) => at >= 0);
  const isBegin = (/** @type {number} */ index) => cells[index + 1]?.at === cells[index].at;
  const rows = (trace.z ?? []).map((row) =>
    cells.slice(1).map(({ at }, index) => (isBegin(index + 1) ? null : row[at])),
  );
  return { ...trace, x: cells.map(({ x }) => x), z: rows };
}
