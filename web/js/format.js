// Formats of numbers, as in netkv/report/text.py.

const NOTHING = "–";
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

export function rate(value) {
  return value == null ? NOTHING : whole.format(value);
}

export function latency(microseconds) {
  if (microseconds == null) return NOTHING;
  if (microseconds < 1000) return `${microseconds.toFixed(0)} µs`;
  if (microseconds < 1_000_000) return `${(microseconds / 1000).toFixed(2)} ms`;
  return `${(microseconds / 1_000_000).toFixed(2)} s`;
}

export function bandwidth(mibPerSecond) {
  return mibPerSecond == null ? NOTHING : `${Number(mibPerSecond.toPrecision(3))} MiB/s`;
}

export function share(value) {
  return value == null ? NOTHING : `${(100 * value).toFixed(1)}%`;
}

export function factor(value) {
  return value == null ? NOTHING : `${value.toFixed(2)}×`;
}

export function number(value) {
  return value == null ? NOTHING : value.toFixed(2);
}

export function count(value) {
  return value == null ? NOTHING : whole.format(value);
}

export function duration(seconds) {
  const rounded = Math.round(seconds);
  return rounded < 60 ? `${rounded} s` : `${Math.floor(rounded / 60)} min ${rounded % 60} s`;
}

export function moment(seconds) {
  return new Date(seconds * 1000).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
}

/** A sweep point: `zipf 0.9, writes 0.05`. */
export function params(values) {
  return Object.entries(values)
    .map(([path, value]) => `${path.split(".").pop()} ${typeof value === "object" ? JSON.stringify(value) : value}`)
    .join(", ");
}

/** Seconds since the measured part began, with more digits for virtual time. */
export function time(seconds, mode) {
  return mode === "live" ? seconds.toFixed(1) : String(Number(seconds.toPrecision(6)));
}

/** The name of a run in a list: scheme, mode unless it is live, sweep point, repeat. */
export function label(run) {
  const parts = [run.mode === "live" ? run.scheme : `${run.scheme} (${run.mode})`];
  if (Object.keys(run.params).length) parts.push(params(run.params));
  if (run.repeat) parts.push(`#${run.repeat + 1}`);
  return parts.join(" · ");
}
