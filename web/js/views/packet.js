// The way of packets through a P4 program: choose program and packets, then follow each step in the switch.

import { ApiError, send } from "../core/api.js";
import { fill, make } from "../core/dom.js";
import * as router from "../core/router.js";
import { afterPause } from "../core/pause.js";
import { copy } from "../parts/copy.js";
import { button, requestForm } from "./packet/form.js";
import { curl, packed, traceCommand, unpacked } from "./packet/link.js";
import { mark, unmark } from "./packet/marks.js";
import { ownProgram } from "./packet/own.js";
import { programAndExamples, programsAndFirst, sourcesOf } from "./packet/programs.js";
import { OWN, TraceRequest } from "./packet/request.js";
import { resultView } from "./packet/result.js";

/** @typedef {import("../core/api.js").Schemas} Schemas */

/** Between the last step and its note in the address: browsers limit how often that may change. */
const REMEMBER_MS = 150;

/** @param {HTMLElement} place */
export function mount(place) {
  const request = new TraceRequest();
  const run = make(
    "button",
    { type: "button", class: "primary", id: "send-packets", click: () => trace() },
    "Send the packets",
  );
  const commands = [
    run,
    button("Copy link", "copy-link", copyLink),
    button("Copy as curl", "copy-curl", copyCurl),
    button("Copy as netkv p4 trace", "copy-command", copyCommand),
  ];
  const said = make("p", { class: "hint", id: "said", role: "status" });
  const problem = make("p", { class: "problem", id: "packet-problem", role: "alert", hidden: true });
  const form = requestForm(request, commands, {
    program: chooseProgram,
    example: (example) => open({ program: request.base, example, own: request.isOwn, source: own.get() }),
    edited,
  });
  const own = ownProgram(edited);
  const ownPlace = make("div", { hidden: true }, own.element);
  const remembering = afterPause(REMEMBER_MS, () => router.remember(state()));
  const result = resultView(remembering.soon);
  const choice = make(
    "section",
    { class: "card choice", "aria-label": "Program and packets" },
    ...form.elements,
    said,
    problem,
  );
  fill(
    place,
    make("h1", { class: "hidden" }, "Packet"),
    make("div", { class: "stack packet-view" }, choice, ownPlace, result.element),
  );

  /** The program to begin with. */
  let first = "";
  /** Requests and loads of older choices are not shown. */
  let turn = 0;
  let closed = false;

  // ---------------------------------------------------------------------------------------------- choice

  /** @param {{ program?: string, example?: string, edit?: string, own?: boolean, source?: string, packet?: number, step?: number }} wanted */
  async function open(wanted) {
    const mine = ++turn;
    fail(null);
    result.outdate();
    say("Loading …");
    try {
      if (!request.programs.length) [request.programs, first] = await programsAndFirst();
      const name = wanted.program && wanted.program !== OWN ? wanted.program : first;
      if (name !== request.base || !request.shipped) {
        say("The examples are recorded from a small simulated lab …");
        const found = await programAndExamples(name);
        if (mine !== turn) return;
        request.chooseProgram(name, found);
      }
      const chosen = request.chooseExample(wanted.example);
      if (wanted.example && chosen?.name !== wanted.example)
        fail(new Error(`${name} has no example ‘${wanted.example}’; ‘${chosen?.title}’ is shown.`));
      request.isOwn = Boolean(wanted.own);
      if (wanted.edit) {
        const changes = await unpacked(wanted.edit).catch((error) => (fail(error), {}));
        if (mine !== turn) return;
        request.apply(changes);
      }
      if (request.isOwn) own.set(wanted.source ?? request.body.source ?? shippedSource());
      result.at.packet = wanted.packet ?? 0;
      result.at.step = wanted.step ?? 0;
      render();
      await trace(true);
    } catch (error) {
      if (mine !== turn) return;
      result.clear();
      run.disabled = false;
      fail(error);
    }
  }

  /** The text that the own program begins with. */
  function shippedSource() {
    const { sources, file } = /** @type {Schemas["ProgramDetails"]} */ (request.shipped);
    return sources[file];
  }

  /** @param {string} name */
  function chooseProgram(name) {
    if (name !== OWN) return open({ program: name });
    if (!request.shipped) return;
    request.isOwn = true;
    own.set(shippedSource());
    render();
    edited();
  }

  function render() {
    form.render();
    ownPlace.hidden = !request.isOwn;
  }

  function edited() {
    run.classList.add("due");
    result.outdate();
    say("Changed: send the packets again to see their way.");
    keepEdit();
  }

  // ----------------------------------------------------------------------------------------------- trace

  /** Sends the packets. @param {boolean} [opens] whether a choice is opened: its step stays, and an error leaves no answer in sight */
  async function trace(opens = false) {
    const mine = ++turn;
    unmark(place);
    if (!opens) fail(null);
    run.disabled = true;
    say("The engine runs the packets …");
    const sent = request.toSend(own.get());
    try {
      const { program, sources } = await loaded(sent);
      if (mine !== turn) return;
      if (program !== request.program) {
        request.program = program;
        form.renderSetup();
      }
      const answer = /** @type {Schemas["TraceResult"]} */ (
        await send("POST", `/programs/${encodeURIComponent(request.name)}/trace`, sent)
      );
      if (mine !== turn) return;
      result.set({ answer, cells: sent.setup.registers, program, sources });
      form.arrived(answer.packets.map((each) => each.arrives.bytes));
      run.classList.remove("due");
      say("");
      await keepEdit();
      if (mine !== turn) return;
      result.show(result.at.packet, opens ? result.at.step : 0);
    } catch (error) {
      if (mine !== turn) return;
      say("");
      if (opens) result.clear();
      fail(error);
      if (error instanceof ApiError) mark(place, error.fields, form.reveal);
    } finally {
      if (mine === turn) run.disabled = false;
    }
  }

  /** The program of a request, and its sources; an own program is compiled. @param {import("./packet/types.js").Body} sent */
  async function loaded(sent) {
    const shipped = /** @type {Schemas["ProgramDetails"]} */ (request.shipped);
    if (!request.isOwn) return { program: shipped, sources: shipped.sources };
    const checked = await own.check(sent.files ?? {}, sent.defines ?? {});
    if (!checked.ok || !checked.interface) {
      const number = checked.errors.length;
      throw new Error(
        `The program does not compile: ${number} ${number === 1 ? "error" : "errors"}, at the lines below its text.`,
      );
    }
    const known = await sourcesOf(checked.interface.files, { ...shipped.sources, ...sent.files }, request.programs);
    return { program: checked.interface, sources: { ...known, "program.p4": sent.source ?? "" } };
  }

  // --------------------------------------------------------------------------------- address and commands

  /** The changes in the address; null: too many for a link. @type {string | null} */
  let edit = "";
  /** Number of the newest packing of changes: an older one may end later. */
  let packing = 0;

  /** Writes the changes into the address. */
  async function keepEdit() {
    const mine = ++packing;
    const found = request.changes(own.get());
    const text = Object.keys(found).length ? await packed(found) : "";
    if (closed || mine !== packing) return;
    edit = text;
    remembering.soon();
  }

  function state() {
    const { packet, step, mainOnly } = result.at;
    return {
      program: request.name,
      from: request.isOwn ? request.base : "",
      example: request.example,
      packet: packet ? packet + 1 : "",
      step: step ? step + 1 : "",
      main: mainOnly,
      edit: edit ?? "",
    };
  }

  async function copyLink() {
    await keepEdit();
    if (edit == null)
      return say("The changes are too large for a link (more than 8,000 characters). ‘Copy as curl’ has all of them.");
    copy(
      said,
      location.href.split("#")[0] + router.link(["packet"], state()),
      "Copied. The link shows the same packet and step.",
    );
  }

  function copyCurl() {
    copy(said, curl(request.name, request.toSend(own.get())), "Copied. The command sends the same packets.");
  }

  function copyCommand() {
    if (!result.answer) return say("Send the packets first.");
    const { command, problem: why } = traceCommand(
      request.isOwn ? "" : (request.shipped?.file ?? ""),
      request.body,
      result.answer.packets,
    );
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
      result.at.mainOnly = query.get("main") === "true";
      const isShown =
        result.answer &&
        wanted.program === request.base &&
        wanted.example === request.example &&
        wanted.edit === edit &&
        wanted.own === request.isOwn;
      if (isShown) return result.show(wanted.packet, wanted.step);
      open(wanted);
    },
    close() {
      closed = true;
      turn += 1;
      remembering.cancel();
      result.close();
    },
  };
}
