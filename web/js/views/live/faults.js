// Buttons that inject a fault into the rack of a live run.

import { fill } from "../../core/dom.js";

/**
 * @param {HTMLElement} place
 * @param {import("../../core/api.js").Schemas["RunHead"]} run
 */
export function faults(place, run) {
  // Racks of running scenarios come with the API of labs.
  if (place.dataset.run === run.id) return;
  place.dataset.run = run.id;
  fill(place);
}
