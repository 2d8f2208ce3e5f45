// Positions of the nodes of a lab in its drawing, and which links are drawn as one.

/** @typedef {import("../../core/api.js").Schemas} Schemas */
/** @typedef {Schemas["LabNode"]} Node */
/** @typedef {{ node: Node, x: number, y: number, width: number, height: number, small: boolean }} Box */
/** @typedef {{ id: string, x: number, y: number, width: number, height: number, nodes: string[], parent: string }} Group */
/** @typedef {{ id: string, kind: string, from: [number, number], to: [number, number], ends: [string, string], down: boolean, nodes: string[] }} Line the second end is below the first if `down` */
/** @typedef {{ width: number, height: number, boxes: Box[], groups: Group[], lines: Line[] }} Layout */

export const WIDTH = 840;
/** The controllers stand to the right of this. */
const AREA = 670;
/** Rows with more nodes are grids of small nodes, a grid for each switch, with one link. */
const MAX_BIG = 6;
const BIG = { width: 138, height: 74, gap: 18 };
const SMALL = { size: 34, gap: 6 };
const ROW_GAP = 66;
const TOP = 16;

/**
 * @param {Node[]} nodes
 * @param {Schemas["LabLink"][]} links
 * @returns {Layout}
 */
export function layout(nodes, links) {
  const parents = parentsOf(links);
  /** @type {Map<number, Node[]>} */
  const rows = new Map();
  for (const node of nodes) if (node.kind !== "controller") rows.set(node.row, [...(rows.get(node.row) ?? []), node]);
  /** @type {Box[]} */
  const boxes = [];
  /** @type {Group[]} */
  const groups = [];
  let y = TOP;
  for (const [, row] of [...rows].sort(([a], [b]) => a - b)) {
    row.sort((a, b) => a.column - b.column);
    y += (row.length <= MAX_BIG ? bigRow(row, y, boxes) : smallRow(row, y, parents, boxes, groups)) + ROW_GAP;
  }
  const height = y - ROW_GAP + TOP;
  const switches = boxes.filter((box) => box.node.kind === "switch");
  const middle = switches.length
    ? switches.reduce((sum, box) => sum + box.y + box.height / 2, 0) / switches.length
    : height / 2;
  nodes
    .filter((node) => node.kind === "controller")
    .forEach((node, at) => {
      boxes.push({
        node,
        x: WIDTH - BIG.width - 4,
        y: middle - BIG.height / 2 + at * (BIG.height + BIG.gap),
        width: BIG.width,
        height: BIG.height,
        small: false,
      });
    });
  return { width: WIDTH, height, boxes, groups, lines: lines(links, boxes, groups) };
}

/** @param {Node[]} row @param {number} y @param {Box[]} boxes */
function bigRow(row, y, boxes) {
  const slot = AREA / row.length;
  const width = Math.min(BIG.width, slot - 10);
  row.forEach((node, at) =>
    boxes.push({ node, x: slot * (at + 0.5) - width / 2, y, width, height: BIG.height, small: false }),
  );
  return BIG.height;
}

/**
 * @param {Node[]} row
 * @param {number} y
 * @param {Map<string, string>} parents
 * @param {Box[]} boxes
 * @param {Group[]} groups
 */
function smallRow(row, y, parents, boxes, groups) {
  /** @type {Map<string, Node[]>} */
  const parts = new Map();
  for (const node of row) {
    const parent = parents.get(node.name) ?? "";
    parts.set(parent, [...(parts.get(parent) ?? []), node]);
  }
  const cell = SMALL.size + SMALL.gap;
  const slot = AREA / parts.size;
  const across = Math.max(
    1,
    Math.min(
      Math.floor((slot - 24) / cell),
      Math.max(...[...parts.values()].map((part) => Math.ceil(Math.sqrt(part.length * 4)))),
    ),
  );
  let height = 0;
  [...parts].forEach(([parent, part], number) => {
    const width = Math.min(across, part.length) * cell + SMALL.gap;
    const left = slot * (number + 0.5) - width / 2;
    const tall = Math.ceil(part.length / across) * cell + SMALL.gap;
    groups.push({
      id: `${parent}/${row[0].row}`,
      x: left,
      y,
      width,
      height: tall,
      nodes: part.map((node) => node.name),
      parent,
    });
    part.forEach((node, at) => {
      const x = left + SMALL.gap + (at % across) * cell;
      boxes.push({
        node,
        x,
        y: y + SMALL.gap + Math.floor(at / across) * cell,
        width: SMALL.size,
        height: SMALL.size,
        small: true,
      });
    });
    height = Math.max(height, tall);
  });
  return height;
}

/** Node → the switch that it is connected to, also through a card. @param {Schemas["LabLink"][]} links */
function parentsOf(links) {
  const parents = new Map(links.filter((link) => link.kind === "host").map((link) => [link.b, link.a]));
  for (const kind of ["card", "storage"])
    for (const link of links) if (link.kind === kind) parents.set(link.b, parents.get(link.a) ?? link.a);
  return parents;
}

/**
 * The lines: a link each, but one for all links between the same things if an end is a group.
 *
 * @param {Schemas["LabLink"][]} links
 * @param {Box[]} boxes
 * @param {Group[]} groups
 */
function lines(links, boxes, groups) {
  const places = new Map(boxes.map((box) => [box.node.name, { id: box.node.name, ...box }]));
  const groupOf = new Map(groups.flatMap((group) => group.nodes.map((name) => [name, group])));
  /** @type {Map<string, Line>} */
  const found = new Map();
  for (const { kind, a, b } of links) {
    const [from, to] = [a, b].map((name) => groupOf.get(name) ?? places.get(name));
    if (!from || !to) continue;
    const id = `${kind} ${from.id} ${to.id}`;
    const line = found.get(id);
    if (line) line.nodes.push(b);
    else found.set(id, { id, kind, ...ends(kind, from, to), ends: [a, b], down: from.y <= to.y, nodes: [b] });
  }
  return [...found.values()];
}

/**
 * @param {string} kind
 * @param {{ x: number, y: number, width: number, height: number }} from
 * @param {{ x: number, y: number, width: number, height: number }} to
 * @returns {{ from: [number, number], to: [number, number] }}
 */
function ends(kind, from, to) {
  const middle = (/** @type {typeof from} */ box) => box.x + box.width / 2;
  if (kind === "control")
    return { from: [from.x, from.y + from.height / 2], to: [to.x + to.width, to.y + to.height / 2] };
  if (from.y === to.y)
    return { from: [from.x + from.width, from.y + from.height / 2], to: [to.x, to.y + to.height / 2] };
  const [above, below] = from.y < to.y ? [from, to] : [to, from];
  // Ends of a wide box spread, so that neighbouring links do not meet in one point.
  const spread = Math.max(-0.4, Math.min(0.4, (middle(below) - middle(above)) / AREA));
  const upper = middle(above) + spread * above.width;
  return { from: [upper, above.y + above.height], to: [middle(below) - spread * Math.min(below.width, 60), below.y] };
}
