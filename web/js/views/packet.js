// The way of packets through a P4 program: choose program and packets, then follow each step in the switch.

import { ApiError, get, send } from "../core/api.js";
import { fill, make } from "../core/dom.js";
import * as router from "../core/router.js";
import { afterPause } from "../core/pause.js";
import { copy } from "../parts/copy.js";
import { frames, outcome, stateAfter } from "./packet/after.js";
import { code } from "./packet/code.js";
import { details } from "./packet/details.js";
import { labPart, sentence } from "./packet/lab.js";
import { clean, curl, differences, packed, traceCommand, unpacked } from "./packet/link.js";
import { ownProgram } from "./packet/own.js";
import { newMessage, packetEditor } from "./packet/packets.js";
import { description, programsAndFirst, sourcesOf } from "./packet/programs.js";
import { mark, unmark } from "./packet/marks.js";
import { pipeline } from "./packet/pipeline.js";
import { passesOf, valuesBefore } from "./packet/replay.js";
import { complete, setupEditor, summary } from "./packet/setup.js";
import { stepList } from "./packet/steps.js";

/** @typedef {import("../core/api.js").Schemas} Schemas */
/** @typedef {import("./packet/types.js").Body} Body */

const OWN = "source";
/** Between the last step and its note in the address: browsers limit how often that may change. */
const REMEMBER_MS = 150;

/** @param {HTMLElement} place */
export function mount(place) {
  const programs = make("select", { id: "program", change: () => chooseProgram(programs.value) });
  const examples = make("select", { id: "example", change: () => open({ program: base, example: examples.value, own: isOwn, source: isOwn ? own.get() : undefined }) });
  const about = make("p", { class: "hint", id: "about-program" });
  const run = make("button", { type: "button", class: "primary", id: "send-packets", click: () => trace() }, "Send the packets");
  const said = make("p", { class: "hint", id: "said", role: "status" });
  const problem = make("p", { class: "problem", id: "packet-problem", role: "alert", hidden: true });
  const packetHint = make("span", { class: "hint" });
  const setupHint = make("span", { class: "hint" });
  const editor = packetEditor(edited, (name) => known.find((each) => each.name === name)?.body.packets ?? []);
  const setup = setupEditor(edited);
  const own = ownProgram(edited);
  const seed = make("input", { id: "seed", size: 8, value: 0, "data-field": "seed", change: () => ((body.seed = numeric(seed.value)), edited()) });
  const pipelines = make("select", { id: "pipelines", change: () => ((body.pipelines = /** @type {1 | 2 | 4} */ (Number(pipelines.value))), edited()) }, ...[1, 2, 4].map((value) => make("option", { value }, value)));
  const packetPart = make("details", { id: "edit-packets" }, make("summary", {}, "Packets ", packetHint), editor.element);
  const setupPart = make(
    "details",
    { id: "edit-setup" },
    make("summary", {}, "Set-up of the switch ", setupHint),
    setup.element,
    make("div", { class: "choices" }, make("label", {}, "Seed of random()", seed), make("label", {}, "Pipelines", pipelines), button("Empty the set-up", "empty-setup", () => setSetup(complete(undefined))), button("As in the example", "reset-setup", () => setSetup(fresh().setup))),
  );
  const lab = labPart(useLab, usePackets);
  lab.classList.remove("card");
  const choice = make(
    "section",
    { class: "card choice", "aria-label": "Program and packets" },
    make("div", { class: "choices" }, make("label", {}, "Program", programs), make("label", {}, "Example", examples), make("div", { class: "buttons" }, run, button("Copy link", "copy-link", copyLink), button("Copy as curl", "copy-curl", copyCurl), button("Copy as netkv p4 trace", "copy-command", copyCommand))),
    about,
    make("div", { class: "folded" }, packetPart, setupPart, lab),
    said,
    problem,
  );
  const headline = make("section", { class: "card", id: "way", "aria-label": "The way of the packet" });
  const list = stepList(stepChosen, (main) => {
    mainOnly = main;
    remember();
  });
  const facts = make("section", { class: "card facts-card", id: "step-details", "aria-label": "Details of the step" });
  const source = code();
  const sourceCard = make("section", { class: "card", id: "source" }, source.element);
  const inspect = make("div", { class: "inspect" }, list.element, make("div", { class: "stack" }, sourceCard, facts));
  const outside = make("div", { class: "stack", id: "outside" });
  const results = make("div", { class: "stack results", hidden: true }, headline, inspect, outside);
  const ownPlace = make("div", { hidden: true }, own.element);
  fill(place, make("h1", { class: "hidden" }, "Packet"), make("div", { class: "stack packet-view" }, choice, ownPlace, results));

  /** @type {Schemas["ProgramSummary"][]} */
  let all = [];
  /** The program of the examples; the own program began as this one. */
  let base = "";
  let isOwn = false;
  /** @type {Schemas["ProgramDetails"] | null} */
  let shipped = null;
  /** @type {Schemas["TraceExample"][]} */
  let known = [];
  let example = "";
  /** @type {Body} */
  let body = { packets: [], setup: complete(undefined) };
  /** The changes in the address; null: too many for a link. @type {string | null} */
  let edit = "";
  /** What the program consists of. @type {Schemas["ProgramInterface"] | null} */
  let program = null;
  /** @type {Record<string, string>} */
  let sources = {};
  /** @type {Schemas["TraceResult"] | null} */
  let result = null;
  /** The set-up of the result. @type {import("./packet/types.js").Cell[]} */
  let cells = [];
  /** @type {import("./packet/details.js").Traced | null} */
  let traced = null;
  /** @type {ReturnType<typeof pipeline> | null} */
  let picture = null;
  let packet = 0;
  let step = 0;
  let mainOnly = false;
  /** Requests and loads of older choices are not shown. */
  let turn = 0;
  const remembering = afterPause(REMEMBER_MS, () => router.remember(state()));

  /** @param {string} text @param {string} id @param {() => unknown} click */
  function button(text, id, click) {
    return make("button", { type: "button", id, class: "quiet", click }, text);
  }

  // ---------------------------------------------------------------------------------------------- choice

  let first = "";

  /** @param {{ program?: string, example?: string, edit?: string, own?: boolean, source?: string, packet?: number, step?: number }} wanted */
  async function open(wanted) {
    const mine = ++turn;
    fail(null);
    results.classList.add("stale");
    say("Loading …");
    try {
      if (!all.length) [all, first] = await programsAndFirst();
      const name = wanted.program && wanted.program !== OWN ? wanted.program : first;
      if (name !== base || !shipped) {
        say("The examples are recorded from a small simulated lab …");
        const [found, list_] = await Promise.all([get(`/programs/${encodeURIComponent(name)}`), get(`/programs/${encodeURIComponent(name)}/examples`)]);
        if (mine !== turn) return;
        shipped = found;
        known = list_;
        base = name;
      }
      const chosen = known.find((each) => each.name === wanted.example) ?? known[0];
      if (wanted.example && chosen?.name !== wanted.example) fail(new Error(`${base} has no example ‘${wanted.example}’; ‘${chosen?.title}’ is shown.`));
      example = chosen?.name ?? "";
      isOwn = Boolean(wanted.own);
      body = fresh();
      if (wanted.edit) {
        const changes = await unpacked(wanted.edit).catch((error) => (fail(error), {}));
        if (mine !== turn) return;
        apply(changes);
      }
      packet = wanted.packet ?? 0;
      step = wanted.step ?? 0;
      if (isOwn) own.set(wanted.source ?? body.source ?? /** @type {Schemas["ProgramDetails"]} */ (shipped).sources[/** @type {Schemas["ProgramDetails"]} */ (shipped).file]);
      program = shipped;
      renderChoice();
      await trace(true);
    } catch (error) {
      if (mine !== turn) return;
      results.hidden = true;
      run.disabled = false;
      fail(error);
    }
  }

  /** The request of the example. @returns {Body} */
  function fresh() {
    const found = known.find((each) => each.name === example)?.body;
    const copied = found ? structuredClone(found) : { packets: [{ port: 1, title: "", message: newMessage() }] };
    return /** @type {Body} */ (clean({ ...copied, setup: complete(found?.setup) }));
  }

  /** @param {import("./packet/link.js").Changes} changes */
  function apply(changes) {
    const { setup: parts, ...others } = changes;
    body = { ...body, ...others, setup: { ...body.setup, ...parts } };
  }

  /** What differs from the example. @returns {import("./packet/link.js").Changes} */
  function changes() {
    const found = differences(body, fresh());
    if (isOwn) found.source = own.get();
    return found;
  }

  /** @param {string} name */
  function chooseProgram(name) {
    if (name !== OWN) return open({ program: name });
    if (!shipped) return;
    isOwn = true;
    own.set(shipped.sources[shipped.file]);
    renderChoice();
    edited();
  }

  function renderChoice() {
    fill(programs, ...all.map((each) => make("option", { value: each.name, selected: !isOwn && each.name === base }, each.name)), make("option", { value: OWN, selected: isOwn }, "own program …"));
    fill(examples, ...known.map((each) => make("option", { value: each.name, selected: each.name === example }, each.title)));
    fill(about, ...description(isOwn, all.find((each) => each.name === base), known.find((each) => each.name === example)));
    ownPlace.hidden = !isOwn;
    seed.value = String(body.seed ?? 0);
    pipelines.value = String(body.pipelines ?? 1);
    renderHints();
    editor.set(body.packets, known);
    if (program) setup.set(body.setup, program);
  }

  function renderHints() {
    packetHint.textContent = body.packets.map((each) => (each.message ? `${each.message.op} at port ${each.port}` : `frame at port ${each.port}`)).slice(0, 6).join(", ") + (body.packets.length > 6 ? ", …" : "");
    setupHint.textContent = summary(body.setup);
  }

  function edited() {
    run.classList.add("due");
    results.classList.add("stale");
    say("Changed: send the packets again to see their way.");
    renderHints();
    keepEdit();
  }

  /** Number of the newest packing of changes: an older one may end later. */
  let packing = 0;
  let closed = false;

  /** Writes the changes into the address. */
  async function keepEdit() {
    const mine = ++packing;
    const found = changes();
    const text = Object.keys(found).length ? await packed(found) : "";
    if (closed || mine !== packing) return;
    edit = text;
    remember();
  }

  /** @param {Body["setup"]} next */
  function setSetup(next) {
    body.setup = next;
    if (program) setup.set(next, program);
    edited();
  }

  /** @param {import("./packet/lab.js").Taken} taken */
  function useLab(taken) {
    if (!program) return "No program is loaded.";
    const tables = new Map(program.tables.map((each) => [each.name, each]));
    const usable = taken.entries.filter((each) => tables.get(each.table) && !tables.get(each.table)?.constant);
    body.setup = {
      ...complete(undefined),
      entries: usable,
      // Tables whose default action the control plane has changed.
      defaults: taken.defaults.filter((each) => {
        const table = tables.get(each.table);
        return table && (each.action !== table.default_action || body.setup.defaults.some((other) => other.table === each.table));
      }),
    };
    editor.offerKeys(taken.cached, "cached in the lab");
    editor.offerPorts(taken.ports);
    setSetup(body.setup);
    return sentence(taken, usable.length);
  }

  /** @param {import("./packet/types.js").Packet[]} packets */
  function usePackets(packets) {
    body.packets = packets;
    editor.set(body.packets, known);
    edited();
  }

  // ----------------------------------------------------------------------------------------------- trace

  /** @param {boolean} [keep] whether packet and step stay */
  async function trace(keep = false) {
    const mine = ++turn;
    unmark(place);
    if (!keep) fail(null);
    run.disabled = true;
    say("The engine runs the packets …");
    const request = { ...clean(body) };
    if (isOwn) request.source = own.get();
    else delete request.source;
    try {
      if (isOwn) {
        const checked = await own.check(request.files ?? {}, request.defines ?? {});
        if (mine !== turn) return;
        if (!checked.ok || !checked.interface) {
          say("");
          results.hidden = keep;
          const number = checked.errors.length;
          fail(new Error(`The program does not compile: ${number} ${number === 1 ? "error" : "errors"}, at the lines below its text.`));
          return;
        }
        program = checked.interface;
        sources = { ...(await sourcesOf(checked.interface.files, { ...shipped?.sources, ...body.files }, all)), "program.p4": request.source ?? "" };
        setup.set(body.setup, program);
      } else {
        program = shipped;
        sources = shipped?.sources ?? {};
      }
      const answer = /** @type {Schemas["TraceResult"]} */ (await send("POST", `/programs/${encodeURIComponent(isOwn ? OWN : base)}/trace`, request));
      if (mine !== turn) return;
      result = answer;
      cells = request.setup.registers;
      befores = valuesBefore(answer.packets, cells);
      editor.arrived(answer.packets.map((each) => each.arrives.bytes));
      if (!keep) step = 0;
      run.classList.remove("due");
      say("");
      await keepEdit();
      if (mine !== turn) return;
      showPacket(Math.min(packet, answer.packets.length - 1), step);
    } catch (error) {
      if (mine !== turn) return;
      say("");
      results.hidden = keep;
      fail(error);
      if (error instanceof ApiError) mark(place, error.fields, setup.reveal);
    } finally {
      if (mine === turn) run.disabled = false;
    }
  }

  /** @type {Map<Schemas["Step"], string>} */
  let befores = new Map();

  /** @param {number} number @param {number} at */
  function showPacket(number, at) {
    if (!result || !program) return;
    packet = Math.max(0, number);
    const one = result.packets[packet];
    const passes = passesOf(one.steps);
    traced = { packet: one, passes, program, before: befores };
    picture = pipeline(one.steps, passes, (chosen) => list.choose(chosen));
    const { kind, title, text } = outcome(one);
    const several = result.packets.length > 1;
    fill(
      headline,
      several && make("div", { class: "tabs", role: "group", "aria-label": "Packets" }, ...result.packets.map((each, index) => make("button", { type: "button", id: `packet-${index}`, class: "quiet", "aria-pressed": String(index === packet), click: () => (showPacket(index, 0), remember()) }, `${index + 1}. ${each.title || each.arrives.message?.op || "frame"}`))),
      make("p", { class: `outcome outcome-${kind}`, id: "outcome" }, make("strong", {}, title), ` ${text}`),
      picture.element,
      one.steps_left_out > 0 && make("p", { class: "hint" }, `${one.steps_left_out.toLocaleString("en")} further steps are left out: an answer has at most 20,000.`),
    );
    results.hidden = false;
    results.classList.remove("stale");
    list.set(one.steps, mainOnly);
    fill(outside, frames(traced), stateAfter(result.state, cells, program, several));
    list.show(at);
    showStep(Math.max(0, Math.min(at, one.steps.length - 1)));
  }

  /** @param {number} at */
  function stepChosen(at) {
    showStep(at);
    remember();
  }

  /** @param {number} at */
  function showStep(at) {
    step = at;
    if (!traced) return;
    details(facts, traced, at);
    picture?.show(at);
    const { steps } = traced.packet;
    const line = steps.findLastIndex((each, index) => index <= at && each.file != null);
    const where = steps[line] ?? steps.find((each) => each.file != null);
    if (where?.file && where.line) source.show(where.file, where.line, sources, line === at);
  }

  // --------------------------------------------------------------------------------- address and commands

  function state() {
    return { program: isOwn ? OWN : base, from: isOwn ? base : "", example, packet: packet ? packet + 1 : "", step: step ? step + 1 : "", main: mainOnly, edit: edit ?? "" };
  }

  function remember() {
    remembering.soon();
  }

  async function copyLink() {
    await keepEdit();
    if (edit == null) return say("The changes are too large for a link (more than 8,000 characters). ‘Copy as curl’ has all of them.");
    copy(said, location.href.split("#")[0] + router.link(["packet"], state()), "Copied. The link shows the same packet and step.");
  }

  function copyCurl() {
    const request = { ...body, ...(isOwn ? { source: own.get() } : {}) };
    copy(said, curl(isOwn ? OWN : base, request), "Copied. The command sends the same packets.");
  }

  function copyCommand() {
    if (!result) return say("Send the packets first.");
    const { command, problem: why } = traceCommand(isOwn ? "" : shipped?.file ?? "", body, result.packets);
    if (!command) return say(why ?? "");
    copy(said, command, "Copied. The command shows the same steps, in the folder of netkv's sources.");
  }

  // ----------------------------------------------------------------------------------------------- errors

  /** @param {string} text */
  function say(text) {
    fill(said, text);
  }

  /** @param {unknown} error null: none */
  function fail(error) {
    problem.hidden = !error;
    problem.textContent = error instanceof Error ? error.message : String(error ?? "");
    if (error) say("");
  }

  return {
    show(/** @type {router.Route} */ { query }) {
      const name = query.get("program") ?? "";
      const wanted = {
        program: (name === OWN ? query.get("from") : name) ?? "",
        example: query.get("example") ?? "",
        edit: query.get("edit") ?? "",
        own: name === OWN,
        packet: Math.max(0, (Number(query.get("packet")) || 1) - 1),
        step: Math.max(0, (Number(query.get("step")) || 1) - 1),
      };
      mainOnly = query.get("main") === "true";
      const same = result && wanted.program === base && wanted.example === example && wanted.edit === edit && wanted.own === isOwn;
      if (same) return showPacket(Math.min(wanted.packet, /** @type {Schemas["TraceResult"]} */ (result).packets.length - 1), wanted.step);
      open(wanted);
    },
    close() {
      closed = true;
      turn += 1;
      remembering.cancel();
      list.close();
    },
  };
}

/** @param {string} text */
function numeric(text) {
  return /^\d+$/.test(text.trim()) ? Number(text) : /** @type {number} */ (/** @type {unknown} */ (text));
}
