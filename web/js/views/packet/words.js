// Words for kinds of steps and blocks, and what a value means to people.

import { big } from "./replay.js";

/** @typedef {import("../../core/api.js").Schemas} Schemas */

/** Kind of a step → sign, word, and the group that determines its colour. @type {Record<string, [string, string, string]>} */
const KINDS = {
  received: ["→", "arrives", "frame"],
  transmitted: ["→", "leaves", "frame"],
  pass: ["▸", "pass", "pass"],
  enter: ["{", "enter", "quiet"],
  extract: ["⇤", "extract", "parser"],
  parser_error: ["!", "parser error", "bad"],
  assign: ["=", "assign", "quiet"],
  validity: ["±", "header", "quiet"],
  branch: ["?", "branch", "quiet"],
  table: ["▤", "table", "table"],
  register_read: ["r", "register", "register"],
  register_write: ["w", "register", "register"],
  count: ["#", "counter", "register"],
  meter: ["◔", "meter", "register"],
  computed: ["ƒ", "compute", "quiet"],
  checksum_verified: ["✓", "checksum", "parser"],
  emit: ["⇥", "emit", "parser"],
  operation: ["·", "operation", "quiet"],
  request: ["·", "request", "branch"],
  log: ["“", "log", "quiet"],
  assertion_failed: ["!", "assertion", "bad"],
  clone: ["⑂", "clone", "branch"],
  multicast: ["⑂", "multicast", "branch"],
  digest: ["⇡", "digest", "branch"],
  resubmit: ["↺", "resubmit", "branch"],
  recirculate: ["↺", "recirculate", "branch"],
  drop: ["✕", "drop", "bad"],
  loop_cut: ["✕", "loop cut", "bad"],
};

/** @param {string} kind */
export function wordsOf(kind) {
  const [sign, word, group] = KINDS[kind] ?? ["·", kind.replaceAll("_", " "), "quiet"];
  return { sign, word, group };
}

const QUIET = new Set(["enter", "assign", "branch", "validity", "operation", "computed", "emit"]);

/** Whether a step is one of the main ones: frames, headers, tables, registers, copies. @param {Schemas["Step"]} step */
export function isMain(step) {
  return !QUIET.has(step.kind);
}

/** The text of a step, without what its word says already, and frames by their length. @param {Schemas["Step"]} step */
export function shortText(step) {
  switch (step.kind) {
    case "received":
      return `port ${step.port}, ${(step.bytes ?? "").length / 2} bytes`;
    case "transmitted":
      return `port ${step.port}, ${(step.bytes ?? "").length / 2} bytes`;
    case "table": {
      const keys = (step.keys ?? []).map(({ name, value }) => `${name} ${brief(value)}`).join(", ");
      return `${step.hit ? "hit" : "miss"}  ${shortName(step.table ?? "")}${keys ? ` (${keys})` : ""} → ${shortName(step.action ?? "")}`;
    }
    case "extract":
      return step.header ?? "";
    case "emit":
      return step.header ?? "";
    case "enter":
      return withoutControl((step.label ?? "").replace(/:$/, ""));
    case "register_read":
      return step.value == null
        ? step.text
        : `read ${shortName(step.register ?? "")}[${step.index}] = ${brief(step.value)}`;
    case "register_write":
      return step.value == null
        ? step.text
        : `write ${shortName(step.register ?? "")}[${step.index}] = ${brief(step.value)}`;
    default:
      return withoutControl(step.text);
  }
}

/** `NetkvIngress.lookup.cache` → `lookup.cache`. @param {string} name */
export function shortName(name) {
  const parts = name.split(".");
  return parts.length > 1
    ? parts
        .slice(-2)
        .join(".")
        .replace(/^Netkv(Ingress|Egress|Parser)\./, "")
    : name;
}

/** A text without the names of the outermost controls, which its block says. @param {string} text */
function withoutControl(text) {
  return text.replace(/\bNetkv(Parser|Ingress|Egress|Deparser)\./g, "");
}

/** A long value by its beginning. @param {string} value */
export function brief(value) {
  return value.length > 20 ? `${value.slice(0, 12)}…${value.slice(-4)}` : value;
}

/**
 * What a value means: an address, a text, a decimal number. Empty if that says nothing more.
 *
 * @param {string} value
 * @param {number | null} bits
 * @param {string} [name] of the field
 */
export function meaning(value, bits, name = "") {
  const number = big(value);
  const digits = number.toString(16);
  const field = name.split(".").pop() ?? "";
  if (bits === 48) return digits.padStart(12, "0").replace(/..(?=.)/g, "$&:");
  if (bits === 32 && /^(src|dst|address|addr|ip|src_addr|dst_addr|.*_address)$/i.test(field))
    return [24n, 16n, 8n, 0n].map((shift) => Number((number >> shift) & 255n)).join(".");
  if (bits != null && bits >= 64) return textOf(digits.padStart(bits / 4, "0"));
  const decimal = number.toString();
  return decimal === value || number < 10n ? (number < 10n && value.startsWith("0x") ? decimal : "") : decimal;
}

/** Hex digits as a text in quotes, if they are one (zeros may follow it); else empty. @param {string} digits */
export function textOf(digits) {
  const bytes = (digits.match(/../g) ?? []).map((each) => parseInt(each, 16));
  while (bytes.length && bytes.at(-1) === 0) bytes.pop();
  if (!bytes.length || bytes.some((byte) => byte < 0x20 || byte > 0x7e)) return "";
  return `“${String.fromCharCode(...bytes)}”`;
}

/** A text as hex of a field with this many bits, with zeros behind it; null if it does not fit. @param {string} text @param {number} bits */
export function hexOfText(text, bits) {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length * 8 > bits) return null;
  return `0x${[...bytes]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("")
    .padEnd(bits / 4, "0")}`;
}
