// What a scenario will do on this machine: its runs with their times, warnings, and what must be corrected first.

import { fill, make, swatch } from "../../core/dom.js";
import { duration, params } from "../../core/format.js";
import { lookOf } from "../../core/looks.js";

/** @typedef {import("../../core/api.js").Schemas} Schemas */
/** @typedef {{ field: string, detail: string, line: number }} Wrong */

/**
 * @param {Schemas["ScenarioCheck"]} check
 */
export function planned(check) {
  const points = [...new Set(check.plan.map((cell) => params(cell.params)))];
  const schemes = [...new Set(check.plan.map((cell) => cell.scheme))];
  /** @type {Map<string, { runs: number, seconds: number }>} */
  const cells = new Map();
  for (const cell of check.plan) {
    for (const key of [`${cell.scheme}\n${params(cell.params)}`, `${cell.scheme}\n*`]) {
      const sum = cells.get(key) ?? { runs: 0, seconds: 0 };
      cells.set(key, { runs: sum.runs + 1, seconds: sum.seconds + cell.seconds });
    }
  }
  const shown = (/** @type {string} */ scheme, /** @type {string} */ point) => {
    const cell = cells.get(`${scheme}\n${point}`);
    return make(
      "td",
      { title: cell ? `${cell.seconds} s` : "" },
      cell ? `${cell.runs > 1 ? `${cell.runs} × ` : ""}${duration(cell.seconds / cell.runs)}` : "–",
    );
  };
  const sum = (/** @type {string} */ scheme) => {
    const cell = cells.get(`${scheme}\n*`);
    return make("td", { class: "strong" }, cell ? duration(cell.seconds) : "–");
  };
  const head = make(
    "tr",
    {},
    make("th", { scope: "col" }, points.length > 1 || points[0] ? "sweep point" : "runs"),
    ...schemes.map((name) => make("th", { scope: "col" }, swatch(lookOf(name)), " ", name)),
  );
  const rows = points.map((point) =>
    make("tr", {}, make("th", { scope: "row" }, point || "each run"), ...schemes.map((name) => shown(name, point))),
  );
  const total = make("tr", { class: "total" }, make("th", { scope: "row" }, "one after another"), ...schemes.map(sum));
  const alone = points.length === 1 && check.runs === schemes.length;
  return make(
    "div",
    { class: "scroll plan", tabindex: "0", role: "region", "aria-label": "Planned runs and their expected times" },
    make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows, alone ? null : total)),
  );
}

/** `8 runs · about 34 s here (estimated) · simulated`; if need be `(estimated, with 2 min to build FPGA designs)`. @param {Schemas["ScenarioCheck"]} check */
export function summary(check) {
  const parts = [
    `${check.runs.toLocaleString("en")} ${check.runs === 1 ? "run" : "runs"}`,
    `about ${duration(check.wall_seconds)} here (${check.wall_seconds_source}${check.build_seconds ? `, with ${duration(check.build_seconds)} to build FPGA designs` : ""})`,
    check.virtual_seconds == null ? "live" : `simulated, ${duration(check.virtual_seconds)} of virtual time`,
  ];
  return parts.join(" · ");
}

/**
 * @param {HTMLElement} place
 * @param {Wrong[]} wrong
 * @param {string} detail the error as a whole, if no field is named
 * @param {(wrong: Wrong) => void} go shows the field or line
 */
export function problems(place, wrong, detail, go) {
  place.hidden = !wrong.length && !detail;
  const link = (/** @type {Wrong} */ each) =>
    make(
      "button",
      { type: "button", class: "link", click: () => go(each) },
      each.field || (each.line ? `Line ${each.line}` : "Scenario"),
    );
  fill(
    place,
    make("h3", {}, wrong.length > 1 ? `${wrong.length} errors` : "An error"),
    wrong.length
      ? make(
          "ul",
          { class: "plain" },
          ...wrong.map((each) =>
            make(
              "li",
              {},
              link(each),
              each.line && each.field ? make("span", { class: "hint" }, ` line ${each.line}`) : null,
              make("p", {}, each.detail),
            ),
          ),
        )
      : make("p", {}, detail),
  );
}
