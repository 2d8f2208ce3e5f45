// Headline numbers.

import { make } from "../core/dom.js";

/**
 * @param {{ id: string, label: string, value: string, kind?: string, title?: string }[]} all `kind`: good, bad or none
 */
export function tiles(all) {
  return make(
    "dl",
    { class: "tiles" },
    ...all.map(({ id, label, value, kind = "", title }) =>
      make("div", { class: `tile ${kind}`, id, title }, make("dt", {}, label), make("dd", {}, value)),
    ),
  );
}
