// A scenario's text in the address of the page, and on its way to the editor.

import * as packing from "../../core/packed.js";

/** Largest text that the server accepts, in characters. */
export const MAX_TEXT = 200_000;

/** A text that is too long for the address, until the editor takes it. @type {string | null} */
let waiting = null;

/** Keeps a text for the editor that opens next. @param {string} text */
export function stash(text) {
  waiting = text;
}

/** The kept text, once; null if there is none. */
export function taken() {
  const text = waiting;
  waiting = null;
  return text;
}

/** The text of an address; throws an error with a sentence if it is damaged. @param {string} short */
export async function unpacked(short) {
  try {
    return await packing.unpacked(short, MAX_TEXT);
  } catch {
    throw new Error("The scenario in this address is damaged: the link was probably cut. Ask for the file.");
  }
}
