// The drawing of a lab. It is built once; then only classes, texts and sizes change, so nothing jumps.

import { draw, fill, make, table } from "../../core/dom.js";
import { rate } from "../../core/format.js";
import { MARKS, WORDS, bits, bytes, figureOf, flow, linkName, linkRates, loads, short, stateOf } from "./figures.js";
import { layout } from "./layout.js";

/** @typedef {import("../../core/api.js").Schemas} Schemas */
/** @typedef {Schemas["LabNode"]} Node */
/** @typedef {import("../../core/labs.js").Known} Known */
/** @typedef {import("./layout.js").Box} Box */

/** Height of the bars of servers at the bottom of a box. */
const BARS = 20;
const KINDS = /** @type {Record<string, string>} */ ({
  "external-client": "external client",
  "client-card": "card of the client",
  client: "load generator",
});

/** @param {(node: string) => void} choose */
export function topology(choose) {
  const picture = make("div", { class: "topology scroll" });
  const numbers = make("div", {
    class: "scroll",
    tabindex: "0",
    role: "region",
    "aria-label": "Nodes and links as a table",
  });
  const details = make(
    "details",
    { class: "numbers", id: "topology-table", toggle: () => fillTable() },
    make("summary", {}, "Nodes and links as a table"),
    numbers,
  );
  const element = make(
    "section",
    { class: "card", id: "topology", "aria-label": "Topology" },
    picture,
    legend(),
    details,
  );
  let drawn = "";
  /** @type {((known: Known | null, chosen: string) => void)[]} */
  let updates = [];
  /** @type {() => void} */
  let fillTable = () => {};

  return {
    element,
    /** @param {Schemas["Lab"]} lab @param {Known | null} known @param {string} chosen */
    update(lab, known, chosen) {
      const key = JSON.stringify([lab.name, lab.created, lab.nodes.map((node) => node.name)]);
      if (key !== drawn) {
        drawn = key;
        updates = [];
        fill(picture, build(lab, updates, choose));
      }
      for (const each of updates) each(known, chosen);
      fillTable = () => details.open && fill(numbers, nodesTable(lab, known), linksTable(lab, known));
      fillTable();
    },
  };
}

/**
 * @param {Schemas["Lab"]} lab
 * @param {((known: Known | null, chosen: string) => void)[]} updates
 * @param {(node: string) => void} choose
 */
function build(lab, updates, choose) {
  const { width, height, boxes, groups, lines } = layout(lab.nodes, lab.links);
  const few = lines.filter((line) => line.kind !== "control").length <= 12;
  const root = draw(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `Topology of ${lab.name}` },
    hatch(),
  );
  const controlled = lines.filter((line) => line.kind === "control").length;
  // Those of several switches would cross nodes.
  for (const line of lines) root.append(link(line, line.kind === "control" ? controlled === 1 : few, updates));
  for (const group of groups)
    root.append(
      draw("rect", { class: "group", x: group.x, y: group.y, width: group.width, height: group.height, rx: 8 }),
    );
  for (const box of boxes) root.append(node(box, updates, choose));
  return root;
}

/** The pattern of nodes that are down. */
function hatch() {
  const lines = draw("path", { d: "M-2,2 l4,-4 M0,8 l8,-8 M6,10 l4,-4", class: "hatch" });
  return draw("defs", {}, draw("pattern", { id: "down", width: 8, height: 8, patternUnits: "userSpaceOnUse" }, lines));
}

/**
 * @param {import("./layout.js").Line} line
 * @param {boolean} labelled whether its rates are always shown
 * @param {((known: Known | null, chosen: string) => void)[]} updates
 */
function link({ kind, from, to, ends, down, nodes }, labelled, updates) {
  const path = draw("line", { class: "line", x1: from[0], y1: from[1], x2: to[0], y2: to[1] });
  const wide = draw("line", { class: "reach", x1: from[0], y1: from[1], x2: to[0], y2: to[1] });
  const title = draw("title");
  const [x, y] = [(from[0] + to[0]) / 2, (from[1] + to[1]) / 2];
  const first = draw("tspan", { x, y: y - 3 });
  const second = draw("tspan", { x, y: y + 12 });
  const text = draw("text", { class: "rates" }, first, second);
  const names = kind === "cable" ? [linkName({ kind, a: ends[0], b: ends[1] })] : nodes;
  const counted = kind === "host" || kind === "card" || kind === "cable";
  updates.push((known, chosen) => {
    const sample = known?.samples.at(-1);
    const rates = counted ? linkRates(names, sample) : null;
    const faulty = (known?.update.faults ?? []).some(
      (fault) => fault.target === "link" && (nodes.includes(fault.node) || fault.node === ends.join(":")),
    );
    const partitioned = kind === "control" && (known?.update.faults ?? []).some((fault) => fault.target === "channel");
    group.classList.toggle("faulty", faulty || partitioned);
    group.classList.toggle("chosen", ends.includes(chosen) || nodes.includes(chosen));
    const both = rates ? rates.to + rates.from : 0;
    path.style.strokeWidth = String(both > 0 ? 1.2 + Math.min(5, Math.log10(1 + both)) : 1.2);
    const control = kind === "control" ? sample?.control_plane_bytes_per_s[ends[1]] : null;
    const arrows = (/** @type {number} */ to, /** @type {number} */ from) =>
      down ? `↑${short(from)} ↓${short(to)}` : `↑${short(to)} ↓${short(from)}`;
    first.textContent =
      faulty || partitioned
        ? "✕ fault"
        : rates && both
          ? arrows(rates.to, rates.from)
          : control != null
            ? bytes(control)
            : "";
    second.textContent =
      rates && both && rates.toBytes != null && rates.fromBytes != null && !faulty
        ? `${arrows(8 * rates.toBytes, 8 * rates.fromBytes)} bit/s`
        : "";
    first.setAttribute("y", String(second.textContent ? y - 3 : y + 4));
    const named = nodes.length > 1 ? `${ends[0]} – ${nodes.length} nodes` : `${ends[0]} – ${ends[1]}`;
    title.textContent = rates
      ? `${named}: ${flow(rates.to, rates.toBytes)}; back ${flow(rates.from, rates.fromBytes)}`
      : control != null
        ? `${named}: ${bytes(control)}, both directions`
        : named;
  });
  const group = draw("g", { class: `link ${kind}${labelled ? " labelled" : ""}` }, title, path, wide, text);
  return group;
}

/**
 * @param {Box} box
 * @param {((known: Known | null, chosen: string) => void)[]} updates
 * @param {(node: string) => void} choose
 */
function node(box, updates, choose) {
  const { node: about, x, y, width, height, small } = box;
  const press = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    choose(about.name);
  };
  const title = draw("title");
  const level = draw("rect", {
    class: "level",
    x: x + 2,
    width: width - 4,
    y: y + height - 2,
    height: 0,
    rx: small ? 2 : 4,
  });
  const body = draw("path", { class: "body", d: shape(box) });
  const mark = draw("text", {
    class: "mark",
    x: x + width - (small ? width / 2 : 14),
    y: y + (small ? height / 2 + 4 : 19),
  });
  const name = draw("text", { class: "name", x: x + (small ? width / 2 : 12), y: y + 20 }, small ? "" : about.name);
  const figure = draw("text", { class: "figure", x: x + 12, y: y + 39 });
  const bars =
    small || about.kind !== "servers"
      ? []
      : about.servers.map((_, at) => {
          const slot = (width - 24) / about.servers.length;
          return draw("rect", {
            class: "bar",
            x: x + 12 + at * slot,
            width: Math.max(1, slot - (slot > 4 ? 2 : 0.5)),
            y: y + height - 8,
            height: 0,
          });
        });
  // Spaces separate the words for assistive technology.
  const parts = small ? [level, mark] : [...bars, name, " ", figure, " ", mark];
  const element = draw(
    "g",
    {
      class: `node kind-${about.kind}${small ? " small" : ""}`,
      id: `node-${about.name}`,
      "data-node": about.name,
      tabindex: 0,
      role: "button",
      click: () => choose(about.name),
      keydown: press,
    },
    body,
    ...parts,
  );
  updates.push((known, chosen) => {
    const state = stateOf(about, known);
    const sample = known?.samples.at(-1);
    const text = figureOf(about, known);
    if (element.dataset.state !== state) element.dataset.state = state;
    element.setAttribute("aria-pressed", String(chosen === about.name));
    // It begins with the text that is seen.
    element.setAttribute(
      "aria-label",
      `${about.name} ${text}, ${KINDS[about.kind] ?? about.kind}${text === WORDS[state] ? "" : `, ${WORDS[state]}`}`,
    );
    title.textContent = `${about.name}: ${WORDS[state]}${text && text !== WORDS[state] ? `, ${text}` : ""}`;
    mark.textContent = small && state === "up" ? "" : MARKS[state];
    figure.textContent = text;
    const busiest = Math.max(1, ...(sample?.server_load ?? []).map((load) => load ?? 0));
    const shares = loads(about, state === "up" ? sample : undefined).map((each) => each / busiest);
    bars.forEach((bar, at) => {
      const tall = BARS * (shares[at] ?? 0);
      bar.style.transform = `scaleY(${tall / BARS})`;
    });
    if (small && shares.length) {
      const mean = shares.reduce((sum, each) => sum + each, 0) / shares.length;
      level.style.transform = `scaleY(${mean})`;
    }
  });
  for (const bar of bars) settle(bar, y + height - 8, BARS);
  settle(level, y + height - 2, height - 4);
  // A title inside would be part of the name.
  return draw("g", {}, title, element);
}

/** A bar that grows from its bottom by a transform, which the browser animates without a layout. @param {SVGRectElement} bar @param {number} bottom @param {number} tall */
function settle(bar, bottom, tall) {
  bar.setAttribute("y", String(bottom - tall));
  bar.setAttribute("height", String(tall));
  bar.style.transformOrigin = `0 ${bottom}px`;
  bar.style.transform = "scaleY(0)";
}

/** The outline of a node: each kind has a shape of its own. @param {Box} box */
function shape({ node: { kind }, x, y, width, height, small }) {
  const cut = small ? 6 : 14;
  if (kind === "switch")
    return `M${x + cut},${y} H${x + width - cut} L${x + width},${y + cut} V${y + height - cut} L${x + width - cut},${y + height} H${x + cut} L${x},${y + height - cut} V${y + cut} Z`;
  const radius =
    { client: height / 2.4, "external-client": height / 2.4, controller: 2, card: 2, "client-card": 2 }[
      /** @type {string} */ (kind)
    ] ?? (small ? 5 : 9);
  const r = Math.min(radius, height / 2, width / 2);
  return `M${x + r},${y} H${x + width - r} a${r},${r} 0 0 1 ${r},${r} V${y + height - r} a${r},${r} 0 0 1 ${-r},${r} H${x + r} a${r},${r} 0 0 1 ${-r},${-r} V${y + r} a${r},${r} 0 0 1 ${r},${-r} Z`;
}

function legend() {
  const entry = (/** @type {import("./figures.js").State} */ state) =>
    make("span", { class: `key key-${state}` }, `${MARKS[state]} ${WORDS[state]}`);
  return make(
    "p",
    { class: "hint legend" },
    entry("up"),
    entry("down"),
    entry("free"),
    make(
      "span",
      {},
      "Bars: load of each storage server, relative to the busiest. Links: frames/s and bit/s, upwards ↑ and downwards ↓.",
    ),
  );
}

/** @param {Schemas["Lab"]} lab @param {Known | null} known */
function nodesTable(lab, known) {
  const sample = known?.samples.at(-1);
  const rows = lab.nodes.map((each) => {
    const load = loads(each, sample);
    return [
      each.name,
      KINDS[each.kind] ?? each.kind,
      `${MARKS[stateOf(each, known)]} ${WORDS[stateOf(each, known)]}`,
      figureOf(each, known),
      load.length ? load.map((value) => rate(value)).join(" ") : "",
    ];
  });
  return table(["node", "kind", "state", "now", "operations/s of each server"], rows);
}

/** @param {Schemas["Lab"]} lab @param {Known | null} known */
function linksTable(lab, known) {
  const sample = known?.samples.at(-1);
  const end = (/** @type {string} */ name, /** @type {number | null} */ port) =>
    port == null ? name : `${name} port ${port}`;
  const rows = lab.links.map((each) => {
    const rates = each.kind === "control" ? null : linkRates([linkName(each)], sample);
    return [
      `${end(each.a, each.a_port)} – ${end(each.b, each.b_port)}`,
      each.kind,
      rate(rates?.to),
      bits(rates?.toBytes ?? null),
      rate(rates?.from),
      bits(rates?.fromBytes ?? null),
    ];
  });
  return table(["link", "kind", "frames/s to the second", "bit/s", "frames/s to the first", "bit/s"], rows);
}
