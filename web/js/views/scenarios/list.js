// The scenarios that ship: what each compares, how long it takes here, and how to run it.

import { get } from "../../core/api.js";
import { fill, make, swatch } from "../../core/dom.js";
import { duration } from "../../core/format.js";
import { lookOf } from "../../core/looks.js";
import * as router from "../../core/router.js";
import { FIRST, run } from "../../core/scenarios.js";
import { opener } from "./upload.js";
import { sentenceOf } from "../../parts/problem.js";

/** @typedef {import("../../core/api.js").Schemas["ScenarioSummary"]} Summary */

/** Limits of the duration, in seconds. */
const LIMITS = [
  ["60", "up to 1 minute"],
  ["300", "up to 5 minutes"],
  ["1800", "up to 30 minutes"],
];

/** @param {HTMLElement} place */
export function list(place) {
  /** @type {Summary[] | null} */
  let all = null;
  const search = make("input", { id: "find", type: "search", placeholder: "name, title, description", input: filter });
  const scheme = make("select", { id: "of-scheme", change: filter }, ...choices([["", "any"]]));
  const mode = make(
    "select",
    { id: "of-mode", change: filter },
    ...choices([
      ["", "any"],
      ["live", "live"],
      ["sim", "simulated"],
    ]),
  );
  const limit = make("select", { id: "within", change: filter }, ...choices([["", "any"], ...LIMITS]));
  const order = make(
    "select",
    { id: "order", change: filter },
    ...choices([
      ["", "name"],
      ["time", "shortest first"],
      ["runs", "fewest runs first"],
    ]),
  );
  const controls = { q: search, scheme, mode, within: limit, order };
  const count = make("p", { class: "hint", id: "found", role: "status" });
  const cards = make("ul", { class: "scenarios", id: "scenarios" });
  const { zone, button, close } = opener(place);

  fill(
    place,
    make(
      "div",
      { class: "head scenarios-head" },
      make("h1", {}, "Scenarios"),
      make(
        "p",
        { class: "buttons" },
        button,
        make("a", { class: "button", id: "new", href: router.link(["scenarios", "new"]) }, "New scenario"),
      ),
    ),
    make(
      "form",
      {
        class: "filters",
        role: "search",
        "aria-label": "Scenarios",
        submit: (/** @type {Event} */ event) => event.preventDefault(),
      },
      named("Search", search, "grow"),
      named("Scheme", scheme),
      named("Mode", mode),
      named("Time here", limit),
      named("Order", order),
    ),
    count,
    zone,
    cards,
  );

  function filter() {
    router.remember(Object.fromEntries(Object.entries(controls).map(([name, control]) => [name, control.value])));
    draw();
  }

  function draw() {
    if (!all) return;
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = all.filter((each) => {
      const text = [each.name, each.title, each.description, ...each.schemes].join(" ").toLowerCase();
      return (
        words.every((word) => text.includes(word)) &&
        (!scheme.value || each.schemes.includes(scheme.value)) &&
        (!mode.value || mode.value === modeOf(each)) &&
        (!limit.value || each.wall_seconds <= Number(limit.value))
      );
    });
    const rank = (/** @type {Summary} */ each) => (FIRST.includes(each.name) ? FIRST.indexOf(each.name) : FIRST.length);
    if (order.value === "time") found.sort((a, b) => a.wall_seconds - b.wall_seconds);
    else if (order.value === "runs") found.sort((a, b) => a.runs - b.runs);
    else found.sort((a, b) => rank(a) - rank(b));
    fill(count, found.length === all.length ? `${all.length} scenarios` : `${found.length} of ${all.length} scenarios`);
    fill(
      cards,
      ...found.map(card),
      !found.length &&
        make(
          "li",
          { class: "empty" },
          "No scenario matches the filters. ",
          make("button", { type: "button", class: "link", click: clear }, "Show all"),
        ),
    );
  }

  function clear() {
    for (const control of Object.values(controls)) control.value = "";
    filter();
  }

  async function load() {
    fill(count, "Loading …");
    try {
      all = /** @type {Summary[]} */ (await get("/scenarios"));
    } catch (error) {
      fill(count, make("span", { class: "problem", role: "alert" }, sentenceOf(error)));
      return;
    }
    const chosen = router.current().query.get("scheme") ?? "";
    const schemes = [...new Set(all.flatMap((each) => each.schemes))].sort();
    fill(scheme, ...choices([["", "any"], ...schemes.map((name) => [name, name])]));
    scheme.value = chosen;
    draw();
  }

  load();
  return {
    show(/** @type {URLSearchParams} */ query) {
      for (const [name, control] of Object.entries(controls)) control.value = query.get(name) ?? "";
      draw();
    },
    close,
  };
}

/** @param {Summary} scenario */
function modeOf(scenario) {
  return scenario.virtual_seconds == null ? "live" : "sim";
}

/** @param {string[][]} all value, text */
function choices(all) {
  return all.map(([value, text]) => make("option", { value }, text));
}

/** @param {string} text @param {HTMLElement} control @param {string} [kind] */
function named(text, control, kind = "") {
  return make("div", { class: kind }, make("label", { for: control.id }, text), control);
}

/** @param {Summary} scenario */
function card(scenario) {
  const problem = make("p", { class: "problem", role: "alert", hidden: true });
  const start = make(
    "button",
    {
      type: "button",
      class: "primary",
      id: `run-${scenario.name}`,
      "aria-label": `Run ${scenario.name}`,
      click: begin,
    },
    "Run",
  );

  async function begin() {
    start.disabled = true;
    try {
      await run({ scenario: scenario.name });
    } catch (error) {
      problem.hidden = false;
      fill(problem, sentenceOf(error));
      start.disabled = false;
    }
  }

  const address = router.link(["scenarios", scenario.name]);
  return make(
    "li",
    { class: "card scenario", id: `scenario-${scenario.name}` },
    make(
      "div",
      { class: "head" },
      make("h2", {}, make("a", { href: address }, scenario.title || scenario.name)),
      make("code", { class: "hint" }, scenario.name),
    ),
    make("p", { class: "about", title: scenario.description }, scenario.description),
    make(
      "ul",
      { class: "swatches", "aria-label": "Schemes" },
      ...scenario.schemes.map((name) => make("li", {}, swatch(lookOf(name)), name)),
    ),
    make(
      "div",
      { class: "foot" },
      make(
        "p",
        { class: "facts" },
        make("span", { class: `state mode-${modeOf(scenario)}` }, modeOf(scenario) === "sim" ? "simulated" : "live"),
        ` ${scenario.runs} ${scenario.runs === 1 ? "run" : "runs"} · about ${duration(scenario.wall_seconds)} here (${scenario.wall_seconds_source})`,
      ),
      make(
        "p",
        { class: "buttons" },
        make("a", { class: "button", href: address, "aria-label": `Open ${scenario.name}` }, "Open"),
        start,
      ),
    ),
    problem,
  );
}
