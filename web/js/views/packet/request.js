// The request for a trace: an example of a program, and what the user has changed in it.

import { clean, differences } from "./link.js";
import { newMessage } from "./packets.js";
import { complete } from "./setup.js";

/** @typedef {import("../../core/api.js").Schemas} Schemas */
/** @typedef {import("./types.js").Body} Body */
/** @typedef {import("./link.js").Changes} Changes */

/** The name of a program that the user has written. */
export const OWN = "source";

export class TraceRequest {
  /** All programs that ship. @type {Schemas["ProgramSummary"][]} */
  programs = [];
  /** The program of the examples; the own program began as this one. */
  base = "";
  /** Whether the own program is traced. */
  isOwn = false;
  /** What is known of `base`. @type {Schemas["ProgramDetails"] | null} */
  shipped = null;
  /** The examples of `base`. @type {Schemas["TraceExample"][]} */
  examples = [];
  /** The name of the chosen one. */
  example = "";
  /** What the traced program consists of; until an own one is compiled, the one that it began as. @type {Schemas["ProgramInterface"] | null} */
  program = null;
  /** What is sent, but for the text of the own program. @type {Body} */
  body = { packets: [], setup: complete(undefined) };

  /** The name of the traced program in the API and in the address. */
  get name() {
    return this.isOwn ? OWN : this.base;
  }

  /** @param {string} base @param {{ details: Schemas["ProgramDetails"], examples: Schemas["TraceExample"][] }} loaded */
  chooseProgram(base, { details, examples }) {
    this.base = base;
    this.shipped = details;
    this.examples = examples;
  }

  /** Begins again with an example; without one of this name, the first. @param {string | undefined} name */
  chooseExample(name) {
    const chosen = this.examples.find((each) => each.name === name) ?? this.examples[0];
    this.example = chosen?.name ?? "";
    this.program = this.shipped;
    this.body = this.fresh();
    return chosen;
  }

  /** The request of the example. @returns {Body} */
  fresh() {
    const found = this.examples.find((each) => each.name === this.example)?.body;
    const copied = found ? structuredClone(found) : { packets: [{ port: 1, title: "", message: newMessage() }] };
    return /** @type {Body} */ (clean({ ...copied, setup: complete(found?.setup) }));
  }

  /** @param {Changes} changes */
  apply(changes) {
    const { setup: parts, ...others } = changes;
    this.body = { ...this.body, ...others, setup: { ...this.body.setup, ...parts } };
  }

  /** What differs from the example. @param {string} source the text of the own program @returns {Changes} */
  changes(source) {
    const found = differences(this.body, this.fresh());
    if (this.isOwn) found.source = source;
    return found;
  }

  /** The body to send. @param {string} source the text of the own program */
  toSend(source) {
    const request = { ...clean(this.body) };
    if (this.isOwn) request.source = source;
    else delete request.source;
    return request;
  }
}
