// The events of a run, newest last.

import { fill, make, table } from "../../core/dom.js";
import { time } from "../../core/format.js";
import { kindCell } from "../../parts/events.js";

/** A card with a table of events. */
export function events() {
  const list = make("div", {
    id: "events",
    class: "scroll events",
    tabindex: "0",
    role: "region",
    "aria-label": "Events",
  });
  const element = make(
    "section",
    { class: "card" },
    make("h2", {}, "Events ", make("span", { class: "unit" }, "seconds since the measured part began")),
    list,
  );
  let drawn = "";
  return {
    element,
    /**
     * @param {import("../../core/api.js").Schemas["RunHead"]} run
     * @param {import("../../core/series.js").Series | null} series
     */
    update(run, series) {
      const all = series?.events ?? [];
      const key = `${run.id} ${all.length}`;
      if (key === drawn) return;
      drawn = key;
      const atEnd = list.scrollTop + list.clientHeight >= list.scrollHeight - 4;
      const rows = all.map((event) => [time(event.time, run.mode), kindCell(event.kind), event.node, event.text]);
      fill(
        list,
        all.length ? table(["at", "what", "node", "details"], rows) : make("p", { class: "empty" }, "No events."),
      );
      if (atEnd) list.scrollTop = list.scrollHeight;
    },
  };
}
