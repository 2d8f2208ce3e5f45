// Designs for FPGAs: a list, and the counters of those that run live. Shown while the section is open.

import { get } from "./api.js";
import { byId, make, table } from "./dom.js";
import { count } from "./format.js";

const POLL_MS = 2000;
const HEADINGS = ["design", "clock", "parameters", "ports", "LUT", "FF", "BRAM", "built"];

/** Increments when the section is opened or closed: ends the polling of earlier times. */
let turn = 0;

/** Prepares the section. */
export function start() {
  byId("designs").addEventListener("toggle", () => {
    turn += 1;
    if (!byId("designs").open) return;
    show("designs-list", list);
    poll(turn);
  });
}

async function poll(mine) {
  while (mine === turn) {
    await show("designs-running", running, () => mine === turn);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** Replaces the content of an element by what `draw` returns, or by the reason of its failure. */
async function show(id, draw, wanted = () => true) {
  let content;
  try {
    content = await draw();
  } catch (error) {
    content = [make("p", { class: "problem" }, error.message)];
  }
  if (wanted()) byId(id).replaceChildren(...content);
}

async function list() {
  const { designs, problem } = await get("/api/v1/designs");
  return [
    table(HEADINGS, designs.map(row)),
    problem ? make("p", { class: "hint" }, problem) : "",
  ];
}

function row(design) {
  return [
    make("td", { class: "strong", title: design.description }, design.name, make("small", {}, design.title)),
    `${design.clock_mhz} MHz`,
    parameters(design),
    design.ports.join(", "),
    ...["lut", "ff", "bram"].map((name) => resource(design, name)),
    design.built ? "yes" : "no",
  ];
}

function parameters(of) {
  return Object.entries(of.parameters)
    .map(([name, value]) => `${name}=${value}`)
    .join(" ");
}

/** Expected number, with that of the paper below it. */
function resource(design, name) {
  const paper = design.paper[name];
  const small = paper == null ? null : make("small", {}, `paper: ${count(paper)}`);
  return make("td", {}, count(design.resources[name]), small);
}

async function running() {
  const found = await get("/api/v1/running-designs");
  if (!found.length) return [make("p", { class: "empty" }, "No design runs. ‘netkv fpga run DESIGN --live’ starts one.")];
  return Promise.all(found.map(counters));
}

async function counters(design) {
  const title = make("h2", {}, `${design.name} `, make("span", { class: "unit" }, `${design.design}, ${design.clock_mhz} MHz, ${parameters(design)}`));
  let counts;
  try {
    counts = await get(`/api/v1/running-designs/${encodeURIComponent(design.name)}`);
  } catch (error) {
    return make("section", {}, title, make("p", { class: "problem" }, error.message));
  }
  const all = [...Object.entries(counts.counters), ["cycles", counts.node.cycles]];
  const shown = all.filter(([, value]) => value).map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, count(value))));
  return make("section", { "data-design": design.name }, title, make("dl", { class: "counters" }, ...shown));
}
