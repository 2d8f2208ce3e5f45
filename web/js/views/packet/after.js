// Frames that arrive and leave beside each other, and the state that the packets have changed.

import { make, table } from "../../core/dom.js";
import { count } from "../../core/format.js";
import { blocksOf, byteMap, bytesOf } from "./frame.js";
import { arrivalLayout, changedCells, departureLayouts } from "./replay.js";
import { meaning } from "./words.js";

/** @typedef {import("../../core/api.js").Schemas} Schemas */

const MAX_ROWS = 200;

/** A sentence about what became of a packet. @param {Schemas["TracedPacket"]} packet */
export function outcome(packet) {
  const { arrives, leaves } = packet;
  const [first] = leaves;
  const message = (/** @type {Schemas["Frame"]} */ frame) => frame.message?.op ?? "a frame";
  const came = `${message(arrives)} arrives at port ${arrives.port}`;
  if (!first) return { kind: "dropped", title: "Dropped", text: `${came}; no frame leaves.` };
  const reply = leaves.find(
    (each) => each.port === arrives.port && each.message?.op === `${arrives.message?.op}_REPLY`,
  );
  if (reply)
    return {
      kind: "answered",
      title: "Answered by the switch",
      text: `${came}; ${message(reply)} leaves at the same port${reply.message?.cache_hit ? ", marked as a cache hit" : ""}.`,
    };
  if (leaves.length === 1)
    return {
      kind: "forwarded",
      title: "Forwarded",
      text: `${came}; ${message(first)} leaves at port ${first.port}${first.message ? ` for ${first.message.destination}` : ""}.`,
    };
  return {
    kind: "copied",
    title: `${leaves.length} frames leave`,
    text: `${came}; ${leaves.map((each) => `${message(each)} at port ${each.port}`).join(", ")}.`,
  };
}

/** @param {import("./details.js").Traced} traced */
export function frames({ packet, passes, program }) {
  const { arrives, leaves, steps } = packet;
  const arrived = blocksOf(arrives.bytes, arrivalLayout(steps, passes, program.headers));
  const layouts = departureLayouts(steps, passes, program.headers);
  const before = bytesOf(arrived);
  const left = leaves.map((frame, number) => {
    const layout = layouts[number] ?? [];
    const bits = layout.reduce((sum, each) => sum + each.bits, 0);
    const blocks = blocksOf(frame.bytes, bits <= 4 * frame.bytes.length ? layout : []);
    return byteMap(`Leaves at port ${frame.port}: ${frame.bytes.length / 2} bytes${about(frame)}`, blocks, { before });
  });
  return make(
    "section",
    { class: "card", id: "frames", "aria-label": "Frames" },
    make(
      "div",
      { class: "head" },
      make("h2", {}, "Frames"),
      make(
        "p",
        { class: "hint" },
        make("span", { class: "legend-changed" }, "abc"),
        " differs from the frame that arrived",
      ),
    ),
    make(
      "div",
      { class: "frames" },
      byteMap(`Arrives at port ${arrives.port}: ${arrives.bytes.length / 2} bytes${about(arrives)}`, arrived),
      make(
        "div",
        { class: "stack" },
        ...(left.length
          ? left
          : [make("p", { class: "empty" }, "No frame leaves: the switch has dropped the packet.")]),
      ),
    ),
  );
}

/** @param {Schemas["Frame"]} frame */
function about({ message }) {
  return message ? `, ${message.op} from ${message.source} to ${message.destination}` : "";
}

/** @param {Schemas["StateAfter"]} state @param {import("./types.js").Cell[]} cells those of the set-up @param {Schemas["ProgramInterface"]} program @param {boolean} several whether there are several packets */
export function stateAfter(state, cells, program, several) {
  const changes = changedCells(cells, state.registers);
  const bits = (/** @type {string} */ name) => program.registers.find((each) => each.name === name)?.bits ?? null;
  const registers = changes
    .slice(0, MAX_ROWS)
    .map((each) => [
      `${each.register}[${each.index}]`,
      code(each.before),
      meaning(each.before, bits(each.register)),
      code(each.after),
      meaning(each.after, bits(each.register)),
    ]);
  const counters = state.counters
    .slice(0, MAX_ROWS)
    .map((each) => [`${each.counter}[${each.index}]`, count(each.packets), count(each.bytes)]);
  const statistics = Object.entries(state.statistics).filter(([, value]) => value);
  const left = changes.length + state.counters.length - registers.length - counters.length + state.cells_left_out;
  return make(
    "section",
    { class: "card", id: "state-after", "aria-label": "State afterwards" },
    make(
      "div",
      { class: "head" },
      make("h2", {}, "What changed in the switch"),
      make("p", { class: "hint" }, several ? "by all packets together" : "by this packet"),
    ),
    registers.length
      ? wide(["register", "before", "is", "after", "is"], registers)
      : make("p", { class: "empty" }, "No register has another value than before."),
    counters.length > 0 && wide(["counter", "packets", "bytes"], counters),
    left > 0 && make("p", { class: "hint" }, `${count(left)} further cells are not shown.`),
    state.digests.length > 0 &&
      wide(
        ["digest to the control plane", "members"],
        state.digests.map((each) => [
          each.name,
          each.members.map((member) => `${member.name}=${member.value}`).join(", "),
        ]),
      ),
    statistics.length > 0 &&
      make(
        "p",
        { class: "hint" },
        `Counts of the switch: ${statistics.map(([name, value]) => `${name.replaceAll("_", " ")} ${count(value)}`).join(", ")}.`,
      ),
  );
}

/** @param {string[]} headings @param {(string | Node)[][]} rows */
function wide(headings, rows) {
  return make(
    "div",
    { class: "scroll state-table", tabindex: "0", role: "region", "aria-label": "Changes of the state" },
    table(headings, rows),
  );
}

/** @param {string} value */
function code(value) {
  return make("code", { class: "value" }, value);
}
