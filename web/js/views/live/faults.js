// Buttons that inject a fault into the rack of a live run.

import { get } from "../../core/api.js";
import { fill, make } from "../../core/dom.js";
import * as labs from "../../core/labs.js";
import * as router from "../../core/router.js";
import { inForce, injector } from "../../parts/injector.js";

/** @typedef {import("../../core/api.js").Schemas} Schemas */
/** @typedef {Schemas["RunHead"]} RunHead */

/** @param {HTMLElement} place */
export function faults(place) {
  const controls = make("div");
  const force = make("div", { id: "in-force", "aria-live": "polite" });
  fill(place, make("section", { class: "card" }, make("h2", {}, "Inject a fault"), controls, force));
  /** @type {RunHead | null} */
  let run = null;
  let lab = "";
  let drawn = "";
  let off = () => {};
  let watching = false;

  /** @param {Map<string, labs.Known>} known */
  async function follow(known) {
    const found = run && rackOf(run, known);
    lab = found?.update.name ?? "";
    inForce(force, lab, found?.update.faults ?? []);
    const ready = found?.update.state === "ready" && found.update.answers;
    const key = ready ? lab : "waiting";
    if (key === drawn) return;
    drawn = key;
    if (!ready) return refuse("The rack of this run is being started.");
    try {
      const about = /** @type {Schemas["Lab"]} */ (await get(`/labs/${encodeURIComponent(lab)}`));
      if (drawn !== key) return;
      const part = injector({ id: "fault", nodes: about.nodes, links: about.links, lab: () => lab });
      fill(
        controls,
        part.element,
        make(
          "p",
          { class: "hint" },
          "Faults become events of the run. ",
          make("a", { id: "to-rack", href: router.link(["labs", lab]) }, "Its rack"),
        ),
      );
    } catch {
      // It has just ended; the next message says so.
      if (drawn === key) drawn = "";
    }
  }

  /** The buttons cannot be used. @param {string} reason */
  function refuse(reason) {
    const part = injector({ id: "fault", nodes: ANY, links: [], lab: () => lab });
    part.element.disabled = true;
    fill(controls, part.element, make("p", { class: "hint", id: "no-faults" }, reason));
  }

  function unwatch() {
    if (watching) off();
    watching = false;
    fill(force);
    delete force.dataset.key;
  }

  return {
    /** @param {RunHead} shown */
    update(shown) {
      const reason =
        shown.status !== "running"
          ? "This run has ended."
          : shown.mode !== "live"
            ? "A simulated run has only the faults of its scenario: it runs in virtual time."
            : "";
      const key = JSON.stringify([shown.id, reason]);
      if (place.dataset.run === key) return;
      place.dataset.run = key;
      run = shown;
      drawn = "";
      if (reason) {
        unwatch();
        return refuse(reason);
      }
      refuse("The rack of this run is being started.");
      if (!watching) off = labs.watch(follow);
      watching = true;
    },
    close: unwatch,
  };
}

/** What every rack has: the buttons of a rack that is not known. */
const ANY = /** @type {import("../../parts/injector.js").Node[]} */ ([
  { name: "switch", kind: "switch" },
  { name: "servers-0", kind: "servers" },
  { name: "controller", kind: "controller" },
  { name: "client", kind: "client" },
]);

/** The rack of a run, which names it. @param {RunHead} run @param {Map<string, labs.Known>} known */
function rackOf(run, known) {
  return [...known.values()].find(({ update }) => update.run === run.id);
}
