// Who executes the runs of a job: how many, how quickly, what has failed. The element stays the same from one update to
// the next, so that it stays open.

import { fill, make } from "../../core/dom.js";
import { count, number } from "../../core/format.js";

/** @typedef {import("../../core/api.js").Schemas["JobProgress"]} Progress */

export function workers() {
  const summary = make("summary");
  const list = make("div");
  const element = make("details", { id: "workers", class: "hint", hidden: true }, summary, list);

  return {
    element,
    /** @param {Progress | null | undefined} now that of a job in progress */
    update(now) {
      const all = now?.workers ?? [];
      const refused = all.filter((each) => each.refused);
      const used = all.filter((each) => !each.refused);
      // One process needs no list.
      element.hidden = !now || (used.length < 2 && refused.length === 0 && !now.failed);
      if (!now || element.hidden) return;
      summary.textContent = sentence(now, used);
      fill(
        list,
        now.link && make("p", {}, make("a", { href: now.link, rel: "noopener" }, "Dask's page about them")),
        ...(now.failures ?? []).map((text) => make("p", { class: "problem" }, text)),
        make(
          "ul",
          {},
          ...used.map((each) => make("li", {}, `${each.name}: ${each.running} in progress, ${count(each.done)} done`)),
          ...refused.map((each) => make("li", {}, `${each.name} gets no runs. ${each.refused}`)),
        ),
      );
    },
  };
}

/** @param {Progress} now @param {NonNullable<Progress["workers"]>} used */
function sentence(now, used) {
  const hosts = new Set(used.map((each) => each.host)).size;
  const parts = [
    `${used.length} ${used.length === 1 ? "worker" : "workers"}${hosts > 1 ? ` on ${hosts} hosts` : ""}`,
    now.rate != null &&
      (now.rate >= 1 ? `${number(now.rate)} runs per second` : `${number(60 * now.rate)} runs per minute`),
    now.failed && `${count(now.failed)} failed`,
  ];
  return parts.filter(Boolean).join(" · ");
}
