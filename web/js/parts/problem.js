// The sentence of an error, and how it is shown.

import { make } from "../core/dom.js";

/** @param {unknown} error */
export function sentenceOf(error) {
  return error instanceof Error ? error.message : String(error);
}

/** @param {unknown} error */
export function problem(error) {
  return make("p", { class: "problem", role: "alert" }, sentenceOf(error));
}
