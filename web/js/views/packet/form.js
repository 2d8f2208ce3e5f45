// The form of a request: program, example, packets, and set-up of the switch.

import { fill, make } from "../../core/dom.js";
import { labPart, sentence, usable } from "./lab.js";
import { packetEditor } from "./packets.js";
import { description } from "./programs.js";
import { OWN } from "./request.js";
import { complete, setupEditor, summary } from "./setup.js";

/** @typedef {import("./types.js").Body} Body */

/**
 * @param {import("./request.js").TraceRequest} request
 * @param {HTMLElement[]} commands the buttons beside program and example
 * @param {{ program: (name: string) => unknown, example: (name: string) => unknown, edited: () => unknown }} on
 */
export function requestForm(request, commands, on) {
  const programs = make("select", { id: "program", change: () => on.program(programs.value) });
  const examples = make("select", { id: "example", change: () => on.example(examples.value) });
  const about = make("p", { class: "hint", id: "about-program" });
  const packetHint = make("span", { class: "hint" });
  const setupHint = make("span", { class: "hint" });
  const packets = packetEditor(
    edited,
    (name) => request.examples.find((each) => each.name === name)?.body.packets ?? [],
  );
  const setup = setupEditor(edited);
  const seed = make("input", {
    id: "seed",
    size: 8,
    value: 0,
    "data-field": "seed",
    change: () => ((request.body.seed = numeric(seed.value)), edited()),
  });
  const pipelines = make(
    "select",
    {
      id: "pipelines",
      change: () => ((request.body.pipelines = /** @type {1 | 2 | 4} */ (Number(pipelines.value))), edited()),
    },
    ...[1, 2, 4].map((value) => make("option", { value }, value)),
  );
  const packetPart = make(
    "details",
    { id: "edit-packets" },
    make("summary", {}, "Packets ", packetHint),
    packets.element,
  );
  const setupPart = make(
    "details",
    { id: "edit-setup" },
    make("summary", {}, "Set-up of the switch ", setupHint),
    setup.element,
    make(
      "div",
      { class: "choices" },
      make("label", {}, "Seed of random()", seed),
      make("label", {}, "Pipelines", pipelines),
      button("Empty the set-up", "empty-setup", () => setSetup(complete(undefined))),
      button("As in the example", "reset-setup", () => setSetup(request.fresh().setup)),
    ),
  );
  const lab = labPart(useLab, usePackets);
  lab.classList.remove("card");
  const elements = [
    make(
      "div",
      { class: "choices" },
      make("label", {}, "Program", programs),
      make("label", {}, "Example", examples),
      make("div", { class: "buttons" }, ...commands),
    ),
    about,
    make("div", { class: "folded" }, packetPart, setupPart, lab),
  ];

  function edited() {
    renderHints();
    on.edited();
  }

  function renderHints() {
    const { packets, setup } = request.body;
    packetHint.textContent =
      packets
        .map((each) => (each.message ? `${each.message.op} at port ${each.port}` : `frame at port ${each.port}`))
        .slice(0, 6)
        .join(", ") + (packets.length > 6 ? ", …" : "");
    setupHint.textContent = summary(setup);
  }

  function renderSetup() {
    if (request.program) setup.set(request.body.setup, request.program);
  }

  /** @param {Body["setup"]} next */
  function setSetup(next) {
    request.body.setup = next;
    renderSetup();
    edited();
  }

  /** @param {import("./lab.js").Taken} taken */
  function useLab(taken) {
    if (!request.program) return "No program is loaded.";
    const next = usable(taken, request.program, request.body.setup);
    packets.offerKeys(taken.cached, "cached in the lab");
    packets.offerPorts(taken.ports);
    setSetup(next);
    return sentence(taken, next.entries.length);
  }

  /** @param {import("./types.js").Packet[]} next */
  function usePackets(next) {
    request.body.packets = next;
    packets.set(next, request.examples);
    edited();
  }

  return {
    elements,
    /** Shows the whole request. */
    render() {
      const { base, isOwn, example, body } = request;
      const named = request.examples.find((each) => each.name === example);
      fill(
        programs,
        ...request.programs.map((each) =>
          make("option", { value: each.name, selected: !isOwn && each.name === base }, each.name),
        ),
        make("option", { value: OWN, selected: isOwn }, "own program …"),
      );
      fill(
        examples,
        ...request.examples.map((each) =>
          make("option", { value: each.name, selected: each.name === example }, each.title),
        ),
      );
      fill(
        about,
        ...description(
          isOwn,
          request.programs.find((each) => each.name === base),
          named,
        ),
      );
      seed.value = String(body.seed ?? 0);
      pipelines.value = String(body.pipelines ?? 1);
      renderHints();
      packets.set(body.packets, request.examples);
      renderSetup();
    },
    /** Shows the set-up of another program. */
    renderSetup,
    /** The bytes of the packets as they arrived. */
    arrived: packets.arrived,
    /** Opens the part with a wrong field, so that it can be marked. */
    reveal: setup.reveal,
  };
}

/** @param {string} text @param {string} id @param {() => unknown} click */
export function button(text, id, click) {
  return make("button", { type: "button", id, class: "quiet", click }, text);
}

/** @param {string} text */
function numeric(text) {
  return /^\d+$/.test(text.trim()) ? Number(text) : /** @type {number} */ (/** @type {unknown} */ (text));
}
