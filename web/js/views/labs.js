// Labs: what is up on this machine (`#/labs`), one of them (`#/labs/NAME?node=NODE`), and designs for FPGAs.

import { fill, make } from "../core/dom.js";
import * as router from "../core/router.js";
import { designs } from "./labs/designs.js";
import { lab } from "./labs/lab.js";
import { overview } from "./labs/overview.js";

/** @typedef {{ show?: (query: URLSearchParams) => void, close: () => void }} Part */

/** @param {HTMLElement} place */
export function mount(place) {
  const title = make("h1", { class: "hidden" }, "Labs");
  const choice = make("nav", { class: "choice", "aria-label": "Labs and designs" });
  const content = make("div", { class: "stack" });
  fill(place, make("div", { class: "stack" }, title, choice, content));
  /** @type {Part | null} */
  let part = null;
  let open = "";

  return {
    show(/** @type {router.Route} */ { path, query }) {
      const name = path[0] ?? "";
      const tab = !name && query.get("tab") === "designs" ? "designs" : "labs";
      const key = JSON.stringify([name, tab]);
      if (key !== open) {
        part?.close();
        open = key;
        title.hidden = choice.hidden = Boolean(name);
        const entry = (/** @type {string} */ value, /** @type {string} */ text) =>
          make(
            "a",
            {
              id: `choose-${value}`,
              href: router.link(["labs"], { tab: value === "labs" ? "" : value }),
              "aria-current": value === tab ? "page" : null,
            },
            text,
          );
        fill(choice, entry("labs", "Labs"), entry("designs", "Designs for FPGAs"));
        part = name ? lab(content, name) : tab === "designs" ? designs(content) : overview(content);
      }
      part?.show?.(query);
    },
    close: () => part?.close(),
  };
}
