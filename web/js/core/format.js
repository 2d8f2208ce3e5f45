// Formats of numbers, as in netkv/report/text.py.

export const NOTHING = "–";
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** @typedef {number | null | undefined} Value */

/** @param {Value} value */
export function rate(value) {
  return value == null ? NOTHING : whole.format(value);
}

/** @param {Value} microseconds */
export function latency(microseconds) {
  if (microseconds == null) return NOTHING;
  if (microseconds < 1000) return `${microseconds.toFixed(0)} µs`;
  if (microseconds < 1_000_000) return `${(microseconds / 1000).toFixed(2)} ms`;
  return `${(microseconds / 1_000_000).toFixed(2)} s`;
}

/** @param {Value} mibPerSecond */
export function bandwidth(mibPerSecond) {
  return mibPerSecond == null ? NOTHING : `${Number(mibPerSecond.toPrecision(3))} MiB/s`;
}

/** @param {Value} value */
export function share(value) {
  return value == null ? NOTHING : `${(100 * value).toFixed(1)}%`;
}

/** @param {Value} value */
export function factor(value) {
  return value == null ? NOTHING : `${value.toFixed(2)}×`;
}

/** @param {Value} value */
export function number(value) {
  return value == null ? NOTHING : value.toFixed(2);
}

/** @param {Value} value */
export function count(value) {
  return value == null ? NOTHING : whole.format(value);
}

/** @param {Value} seconds */
export function duration(seconds) {
  if (seconds == null) return NOTHING;
  const rounded = Math.round(seconds);
  if (rounded < 60) return `${rounded} s`;
  const minutes = Math.floor(rounded / 60);
  return minutes < 60 ? `${minutes} min ${rounded % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** @param {number} seconds since the epoch */
export function moment(seconds) {
  return new Date(seconds * 1000).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
}

/** A sweep point: `zipf 0.9, writes 0.05`. @param {Record<string, unknown>} values */
export function params(values) {
  return Object.entries(values)
    .map(([path, value]) => `${path.split(".").pop()} ${typeof value === "object" ? JSON.stringify(value) : value}`)
    .join(", ");
}

/** Seconds since the measured part began, with more digits for virtual time. @param {number} seconds @param {string} mode */
export function time(seconds, mode) {
  return mode === "live" ? seconds.toFixed(1) : String(Number(seconds.toPrecision(6)));
}

/**
 * The name of a run in a list: scheme, mode unless it is live, sweep point, repeat.
 *
 * @param {{ scheme: string, mode: string, params: Record<string, unknown>, repeat: number }} run
 */
export function label(run) {
  const parts = [run.mode === "live" ? run.scheme : `${run.scheme} (${run.mode})`];
  if (Object.keys(run.params).length) parts.push(params(run.params));
  if (run.repeat) parts.push(`#${run.repeat + 1}`);
  return parts.join(" · ");
}
