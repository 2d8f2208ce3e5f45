// Designs for FPGAs: a list, and the counters of those that run live.

import { get } from "../../core/api.js";
import { fill, make, table } from "../../core/dom.js";
import { count } from "../../core/format.js";
import { sentenceOf } from "../../parts/problem.js";

/** @typedef {import("../../core/api.js").Schemas} Schemas */

const POLL_MS = 2000;
const HEADINGS = ["design", "clock", "parameters", "ports", "LUT", "FF", "BRAM", "built"];

/** @param {HTMLElement} place */
export function designs(place) {
  const list = make("div", {
    id: "designs-list",
    class: "scroll",
    tabindex: "0",
    role: "region",
    "aria-label": "Designs",
  });
  const live = make("div", { id: "designs-running" });
  fill(
    place,
    make(
      "section",
      { class: "card" },
      make("h2", {}, "Designs that run live ", make("span", { class: "unit" }, "counters of their registers")),
      live,
    ),
    make(
      "section",
      { class: "card" },
      make("h2", {}, "Designs for FPGAs ", make("span", { class: "unit" }, "resources as expected, and in the paper")),
      list,
    ),
  );
  let open = true;

  async function poll() {
    while (open) {
      await show(live, running, () => open);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  show(list, all, () => open);
  poll();
  return {
    close: () => {
      open = false;
    },
  };
}

/**
 * Replaces the content of an element by what `draw` returns, or by the reason of its failure.
 *
 * @param {HTMLElement} place
 * @param {() => Promise<Node[]>} draw
 * @param {() => boolean} wanted
 */
async function show(place, draw, wanted) {
  let content;
  try {
    content = await draw();
  } catch (error) {
    content = [make("p", { class: "problem" }, sentenceOf(error))];
  }
  if (wanted()) fill(place, ...content);
}

async function all() {
  const { designs: found, problem } = /** @type {Schemas["Designs"]} */ (await get("/designs"));
  return [table(HEADINGS, found.map(row)), ...(problem ? [make("p", { class: "hint" }, problem)] : [])];
}

/** @param {Schemas["DesignSummary"]} design */
function row(design) {
  return [
    make("td", { class: "strong", title: design.description }, design.name, make("small", {}, design.title)),
    `${design.clock_mhz} MHz`,
    make("td", { class: "wrap" }, parameters(design)),
    design.ports.join(", "),
    ...["lut", "ff", "bram"].map((name) => resource(design, name)),
    design.built ? "yes" : "no",
  ];
}

/** @param {{ parameters: Record<string, number | string> }} of */
function parameters(of) {
  return Object.entries(of.parameters)
    .map(([name, value]) => `${name}=${value}`)
    .join(" ");
}

/** Expected number, with that of the paper below it. @param {Schemas["DesignSummary"]} design @param {string} name */
function resource(design, name) {
  const paper = design.paper[name];
  const small = paper == null ? null : make("small", {}, `paper: ${count(paper)}`);
  return make("td", {}, count(design.resources[name]), small);
}

async function running() {
  const found = /** @type {Schemas["RunningDesign"][]} */ (await get("/running-designs"));
  if (!found.length)
    return [make("p", { class: "empty" }, "No design runs. ‘netkv fpga run DESIGN --live’ starts one.")];
  return Promise.all(found.map(counters));
}

/** @param {Schemas["RunningDesign"]} design */
async function counters(design) {
  const title = make(
    "h3",
    {},
    `${design.name} `,
    make("span", { class: "unit" }, `${design.design}, ${design.clock_mhz} MHz, ${parameters(design)}`),
  );
  let counts;
  try {
    counts = /** @type {Schemas["DesignCounters"]} */ (
      await get(`/running-designs/${encodeURIComponent(design.name)}`)
    );
  } catch (error) {
    return make("section", {}, title, make("p", { class: "problem" }, sentenceOf(error)));
  }
  const found = /** @type {[string, number][]} */ ([
    ...Object.entries(counts.counters),
    ["cycles", counts.node.cycles],
  ]);
  const shown = found
    .filter(([, value]) => value)
    .map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, count(value))));
  return make("section", { "data-design": design.name }, title, make("dl", { class: "facts narrow" }, ...shown));
}
