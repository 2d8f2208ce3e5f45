// Scenarios: the list of those that ship, and the form and text of one.

import { fill } from "../core/dom.js";
import { editor } from "./scenarios/editor.js";
import { list } from "./scenarios/list.js";

/** @param {HTMLElement} place */
export function mount(place) {
  /** @type {{ name: string, shown: { show: (query: URLSearchParams) => void, close: () => void } } | null} */
  let open = null;
  return {
    show(/** @type {import("../core/router.js").Route} */ { path, query }) {
      const name = path[0] ?? "";
      if (open?.name !== name) {
        open?.shown.close();
        fill(place);
        open = { name, shown: name ? editor(place, name) : list(place) };
      }
      open.shown.show(query);
    },
    close: () => open?.shown.close(),
  };
}
