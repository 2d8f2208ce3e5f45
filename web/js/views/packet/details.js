// What a step did: keys and entry of a table, values of a register or header, and the headers of the packet then.

import { fill, make, table } from "../../core/dom.js";
import { blocksOf, byteMap } from "./frame.js";
import { arrivalLayout, headersAt } from "./replay.js";
import { meaning, wordsOf } from "./words.js";

/** @typedef {import("../../core/api.js").Schemas} Schemas */
/** @typedef {Schemas["Step"]} Step */
/**
 * A packet with what the page knows about it.
 *
 * @typedef {object} Traced
 * @property {Schemas["TracedPacket"]} packet
 * @property {import("./replay.js").Pass[]} passes
 * @property {Schemas["ProgramInterface"]} program
 * @property {Map<Step, string>} before values of registers before they were written
 */

/** @param {HTMLElement} place @param {Traced} traced @param {number} at */
export function details(place, traced, at) {
  const { packet, passes, program } = traced;
  const step = packet.steps[at];
  if (!step) return fill(place, make("p", { class: "empty" }, "The packet has no steps."));
  const { word } = wordsOf(step.kind);
  const headers = headersAt(packet.steps, passes, at);
  const earlier =
    at > 0 && /^(assign|computed|validity)$/.test(step.kind) ? headersAt(packet.steps, passes, at - 1) : null;
  fill(
    place,
    make(
      "h2",
      { id: "step-title" },
      `${word[0].toUpperCase()}${word.slice(1)}`,
      step.block && make("span", { class: "state" }, step.block),
    ),
    make("div", { class: "facts" }, ...facts(step, traced, earlier)),
    map(traced, headers, step, at),
    validHeaders(headers, program),
  );
}

/** @param {Step} step @param {Traced} traced @param {import("./replay.js").Headers | null} earlier */
function facts(step, { program, before }, earlier) {
  switch (step.kind) {
    case "table": {
      const known = program.tables.find((each) => each.name === step.table);
      const action = program.actions.find((each) => each.name === step.action);
      const keys = (step.keys ?? []).map(({ name, value }, number) => {
        const key = known?.keys.find((each) => each.name === name) ?? known?.keys[number];
        return [name, key?.match ?? "", mono(value), meaning(value, key?.bits ?? null, name)];
      });
      const params = (step.params ?? []).map(({ name, value }) => [
        name,
        mono(value),
        meaning(value, action?.parameters.find((each) => each.name === name)?.bits ?? null, name),
      ]);
      return [
        make(
          "p",
          {},
          make("code", {}, step.table),
          " ",
          make("b", { class: step.hit ? "hit" : "miss" }, step.hit ? "hit" : "miss"),
        ),
        keys.length > 0 && captioned("Key", table(["field", "match", "value", "is"], keys)),
        step.hit
          ? make("p", {}, "Entry ", mono(step.entry ?? ""))
          : make(
              "p",
              {},
              keys.length
                ? "No entry matches: the default action runs."
                : "A table without keys: the default action runs.",
            ),
        make("p", {}, "Action ", make("code", {}, step.action)),
        params.length > 0 && captioned("Parameters", table(["parameter", "value", "is"], params)),
      ];
    }
    case "register_read":
    case "register_write": {
      const bits = program.registers.find((each) => each.name === step.register)?.bits ?? null;
      const cell = make("code", {}, `${step.register}[${step.index}]`);
      if (step.value == null) return [make("p", {}, cell, " is out of range: nothing happens.")];
      const old = before.get(step);
      if (step.kind === "register_read")
        return [
          make("p", {}, cell),
          table(["", "value", "is"], [["read", mono(step.value), meaning(step.value, bits)]]),
        ];
      return [
        make("p", {}, cell),
        table(
          ["", "value", "is"],
          [
            ["before", mono(old ?? "0x0"), meaning(old ?? "0x0", bits)],
            ["after", make("span", { class: "changed-value" }, mono(step.value)), meaning(step.value, bits)],
          ],
        ),
      ];
    }
    case "extract": {
      const fields = program.headers.find((each) => each.name === step.header)?.fields;
      const rows = (step.fields ?? []).map(({ name, value }) => {
        const bits = fields?.find((each) => each.name === name)?.bits ?? null;
        return [name, bits == null ? "" : `${bits}`, mono(value), meaning(value, bits, name)];
      });
      return [
        make("p", {}, "The parser takes ", make("code", {}, step.header), " from the packet."),
        captioned("Fields", table(["field", "bits", "value", "is"], rows)),
      ];
    }
    case "assign":
    case "computed": {
      const dot = (step.name ?? "").lastIndexOf(".");
      const header = (step.name ?? "").slice(0, dot);
      const field = (step.name ?? "").slice(dot + 1);
      const bits =
        program.headers.find((each) => each.name === header)?.fields.find((each) => each.name === field)?.bits ?? null;
      const old = earlier?.get(header)?.fields.get(field);
      const after = step.value ?? "";
      return [
        make("p", {}, step.what && `${step.what} → `, make("code", {}, step.name)),
        table(
          ["", "value", "is"],
          [
            ...(old == null ? [] : [["before", mono(old), meaning(old, bits, field)]]),
            ["after", make("span", { class: "changed-value" }, mono(after)), meaning(after, bits, field)],
          ],
        ),
      ];
    }
    case "branch":
      return [
        make("p", {}, "The condition of the marked line ", make("b", {}, step.taken ? "holds" : "does not hold"), "."),
      ];
    case "received":
    case "transmitted":
      return [make("p", {}, `${(step.bytes ?? "").length / 2} bytes at port ${step.port}.`)];
    case "pass":
      return [
        make(
          "p",
          {},
          `${step.pipeline === "egress" ? "Egress" : "Ingress"} begins${step.number == null ? "" : ` in pipeline ${step.number}`}, for port ${step.port}.`,
        ),
      ];
    case "clone":
      return [
        make(
          "p",
          {},
          step.known
            ? `A clone is made at the end of ${step.pipeline}, for session ${step.session}.`
            : `Session ${step.session} has no replicas in the set-up: no clone is made.`,
        ),
      ];
    case "multicast":
      return [
        make(
          "p",
          {},
          step.copies == null
            ? `Multicast group ${step.group} is not in the set-up: no copy is made.`
            : `${step.copies} copies for multicast group ${step.group}.`,
        ),
      ];
    default:
      return [make("p", {}, step.text)];
  }
}

/**
 * The frame that arrived with what the parser has found in it so far, and what the program has changed since.
 *
 * @param {Traced} traced
 * @param {import("./replay.js").Headers} headers
 * @param {Step} step
 * @param {number} at
 */
function map({ packet, passes, program }, headers, step, at) {
  const blocks = blocksOf(packet.arrives.bytes, arrivalLayout(packet.steps, passes, program.headers, at));
  /** The value of a field, if it differs from what the parser took. @param {string} header @param {string} field */
  const values = (header, field) => {
    const now = headers.get(header)?.fields.get(field);
    const found = packet.steps
      .find((each) => each.kind === "extract" && each.header === header)
      ?.fields?.find((each) => each.name === field)?.value;
    return now != null && found != null && BigInt(now) !== BigInt(found) ? now : null;
  };
  const current = step.header ?? step.name ?? "";
  return byteMap("The frame that arrived; what the parser has found in it so far, and what has changed", blocks, {
    values,
    current,
  });
}

/** @param {import("./replay.js").Headers} headers @param {Schemas["ProgramInterface"]} program */
function validHeaders(headers, program) {
  const valid = [...headers].filter(([, each]) => each.valid);
  if (!valid.length) return null;
  const names = valid.map(([name]) => name.replace(/^hdr\./, ""));
  const rows = valid.flatMap(([header, { fields }]) =>
    [...fields].map(([field, value]) => [
      `${header.replace(/^hdr\./, "")}.${field}`,
      mono(value),
      meaning(
        value,
        program.headers.find((each) => each.name === header)?.fields.find((each) => each.name === field)?.bits ?? null,
        field,
      ),
    ]),
  );
  return make(
    "details",
    { class: "headers-now" },
    make("summary", {}, `Valid headers after this step: ${names.join(", ")}`),
    table(["field", "value", "is"], rows),
  );
}

/** @param {string} title @param {HTMLTableElement} rows */
function captioned(title, rows) {
  rows.prepend(make("caption", {}, title));
  return rows;
}

/** @param {string} value */
function mono(value) {
  return make("code", { class: "value" }, value);
}
