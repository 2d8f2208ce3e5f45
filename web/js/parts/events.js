// Kinds of events in tables.

import { make } from "../core/dom.js";

/** @type {Record<string, string>} */
const CLASSES = { failed: "bad", killed: "bad", fault: "bad", ready: "good", recovered: "good", healed: "good" };

/** The cell with the kind of an event. @param {string} kind */
export function kindCell(kind) {
  return make("td", { class: CLASSES[kind] ?? "" }, kind);
}
