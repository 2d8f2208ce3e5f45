// packet.

import { fill, make } from "../core/dom.js";

/** @param {HTMLElement} place */
export function mount(place) {
  fill(place, make("p", { class: "empty" }, "…"));
  return { show() {}, close() {} };
}
