// The answer to a request: the way of one packet at a time, its steps, and the state of the switch afterwards.

import { fill, make } from "../../core/dom.js";
import { frames, outcome, stateAfter } from "./after.js";
import { code } from "./code.js";
import { details } from "./details.js";
import { pipeline } from "./pipeline.js";
import { passesOf, valuesBefore } from "./replay.js";
import { stepList } from "./steps.js";

/** @typedef {import("../../core/api.js").Schemas} Schemas */
/**
 * @typedef {object} Shown
 * @property {Schemas["TraceResult"]} answer
 * @property {import("./types.js").Cell[]} cells the registers of the set-up
 * @property {Schemas["ProgramInterface"]} program
 * @property {Record<string, string>} sources
 */

/** @param {() => void} moved called when the user has chosen another packet or step */
export function resultView(moved) {
  const headline = make("section", { class: "card", id: "way", "aria-label": "The way of the packet" });
  const list = stepList(stepChosen, (main) => {
    at.mainOnly = main;
    moved();
  });
  const facts = make("section", { class: "card facts-card", id: "step-details", "aria-label": "Details of the step" });
  const source = code();
  const sourceCard = make("section", { class: "card", id: "source" }, source.element);
  const inspect = make("div", { class: "inspect" }, list.element, make("div", { class: "stack" }, sourceCard, facts));
  const outside = make("div", { class: "stack", id: "outside" });
  const element = make("div", { class: "stack results", hidden: true }, headline, inspect, outside);

  /** What is in sight, or will be when the answer has come; the first packet and step are 0. */
  const at = { packet: 0, step: 0, mainOnly: false };
  /** @type {Shown | null} */
  let shown = null;
  /** @type {Map<Schemas["Step"], string>} */
  let before = new Map();
  /** @type {import("./details.js").Traced | null} */
  let traced = null;
  /** @type {ReturnType<typeof pipeline> | null} */
  let picture = null;

  /** @param {number} packet @param {number} step */
  function show(packet, step) {
    if (!shown) return;
    const { packets, state } = shown.answer;
    at.packet = Math.max(0, Math.min(packet, packets.length - 1));
    const one = packets[at.packet];
    const passes = passesOf(one.steps);
    traced = { packet: one, passes, program: shown.program, before };
    picture = pipeline(one.steps, passes, (chosen) => list.choose(chosen));
    const { kind, title, text } = outcome(one);
    fill(
      headline,
      packets.length > 1 && tabs(packets),
      make("p", { class: `outcome outcome-${kind}`, id: "outcome" }, make("strong", {}, title), ` ${text}`),
      picture.element,
      one.steps_left_out > 0 &&
        make(
          "p",
          { class: "hint" },
          `${one.steps_left_out.toLocaleString("en")} further steps are left out: an answer has at most 20,000.`,
        ),
    );
    element.hidden = false;
    element.classList.remove("stale");
    list.set(one.steps, at.mainOnly);
    fill(outside, frames(traced), stateAfter(state, shown.cells, shown.program, packets.length > 1));
    list.show(step);
    showStep(Math.max(0, Math.min(step, one.steps.length - 1)));
  }

  /** @param {Schemas["TracedPacket"][]} packets */
  function tabs(packets) {
    const tab = (/** @type {Schemas["TracedPacket"]} */ each, /** @type {number} */ index) => {
      const chosen = () => {
        show(index, 0);
        moved();
      };
      return make(
        "button",
        {
          type: "button",
          id: `packet-${index}`,
          class: "quiet",
          "aria-pressed": String(index === at.packet),
          click: chosen,
        },
        `${index + 1}. ${each.title || each.arrives.message?.op || "frame"}`,
      );
    };
    return make("div", { class: "tabs", role: "group", "aria-label": "Packets" }, ...packets.map(tab));
  }

  /** @param {number} step */
  function stepChosen(step) {
    showStep(step);
    moved();
  }

  /** @param {number} step */
  function showStep(step) {
    at.step = step;
    if (!traced || !shown) return;
    details(facts, traced, step);
    picture?.show(step);
    const { steps } = traced.packet;
    const line = steps.findLastIndex((each, index) => index <= step && each.file != null);
    const where = steps[line] ?? steps.find((each) => each.file != null);
    if (where?.file && where.line) source.show(where.file, where.line, shown.sources, line === step);
  }

  return {
    element,
    at,
    /** The last answer; null before the first, and after one that failed. */
    get answer() {
      return shown?.answer ?? null;
    },
    /** @param {Shown} next */
    set(next) {
      shown = next;
      before = valuesBefore(next.answer.packets, next.cells);
    },
    show,
    /** The request has changed since. */
    outdate() {
      element.classList.add("stale");
    },
    /** There is no answer. */
    clear() {
      shown = null;
      element.hidden = true;
    },
    close: list.close,
  };
}
