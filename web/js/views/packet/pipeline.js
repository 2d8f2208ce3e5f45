// The picture of the switch: parser, ingress, traffic manager, egress, deparser, with the way of a packet through them.
// Each pass through egress, and each further one through ingress, has a row; copies and recirculations are branches.

import { draw, make, scrolling } from "../../core/dom.js";
import { passOf } from "./replay.js";

/** @typedef {import("./replay.js").Pass} Pass */
/** @typedef {import("../../core/api.js").Schemas} Schemas */

const COLUMNS = { in: 8, Parser: 112, Ingress: 268, manager: 452, Egress: 620, Deparser: 776, out: 940 };
const WIDTH = 1040;
const BOX = { width: 116, height: 40 };
const ROW = 66;
const TOP = 14;
const MAX_ROWS = 40;

/** The blocks of v1model as boxes of the picture. @type {Record<string, "Parser" | "Ingress" | "Egress" | "Deparser">} */
const BOX_OF = {
  Parser: "Parser",
  VerifyChecksum: "Parser",
  Ingress: "Ingress",
  Egress: "Egress",
  ComputeChecksum: "Deparser",
  Deparser: "Deparser",
};

/**
 * @param {Schemas["Step"][]} steps
 * @param {Pass[]} passes
 * @param {(step: number) => void} choose
 * @returns {{ element: HTMLElement, show: (step: number) => void }}
 */
export function pipeline(steps, passes, choose) {
  const rows = rowsOf(passes);
  const shown = rows.slice(0, MAX_ROWS);
  const height = TOP + Math.max(1, shown.length) * ROW - (ROW - BOX.height) + 6;
  /** Boxes by pass and block. @type {Map<string, SVGElement>} */
  const boxes = new Map();
  /** @type {Element[]} */
  const wires = [];
  /** @type {Element[]} */
  const parts = [];
  const middle = (/** @type {number} */ row) => TOP + row * ROW + BOX.height / 2;

  /** @param {number} x1 @param {number} y1 @param {number} x2 @param {number} y2 @param {string} [kind] */
  const wire = (x1, y1, x2, y2, kind = "") => {
    const bend = (x1 + x2) / 2;
    const d = y1 === y2 ? `M${x1} ${y1}H${x2}` : `M${x1} ${y1}C${bend} ${y1} ${bend} ${y2} ${x2} ${y2}`;
    wires.push(draw("path", { class: `wire ${kind}`, d, "marker-end": "url(#packet-arrow)" }));
  };
  /** @param {number} x @param {number} y @param {string} words @param {string} kind @param {string} [anchor] */
  const note = (x, y, words, kind, anchor = "start") =>
    parts.push(draw("text", { class: kind, x, y, "text-anchor": anchor }, words));

  /** @param {number} index @param {"Parser" | "Ingress" | "Egress" | "Deparser"} name @param {number} row @param {string} [below] */
  const box = (index, name, row, below) => {
    const pass = passes[index];
    const first = steps.findIndex(
      (step, at) => at >= pass.first && at <= pass.last && step.block != null && BOX_OF[step.block] === name,
    );
    const working = first >= 0;
    const x = COLUMNS[name];
    const text = [below, working ? "" : "no statements"].filter(Boolean).join(", ");
    const group = draw(
      "g",
      {
        class: `box passed${working ? "" : " without"}`,
        ...(working
          ? {
              role: "button",
              tabindex: 0,
              "aria-label": `${name} of pass ${index + 1}: step ${first + 1}`,
              click: () => choose(first),
              keydown: (/** @type {KeyboardEvent} */ event) =>
                (event.key === "Enter" || event.key === " ") && (event.preventDefault(), choose(first)),
            }
          : {}),
      },
      draw("rect", { x, y: middle(row) - BOX.height / 2, width: BOX.width, height: BOX.height, rx: 7 }),
      draw("text", { x: x + BOX.width / 2, y: middle(row) + (text ? -2 : 5), "text-anchor": "middle" }, name),
      text
        ? draw("text", { class: "small", x: x + BOX.width / 2, y: middle(row) + 13, "text-anchor": "middle" }, text)
        : null,
    );
    boxes.set(`${index} ${name}`, group);
    parts.push(group);
  };

  for (const [row, { ingress, egress }] of shown.entries()) {
    const y = middle(row);
    const managerLeft = COLUMNS.manager;
    if (ingress >= 0) {
      const pass = passes[ingress];
      if (pass.cause === "arrival") {
        note(COLUMNS.in, y - 5, "arrives", "small");
        note(COLUMNS.in, y + 12, `port ${pass.port}`, "port");
        wire(COLUMNS.in + 62, y, COLUMNS.Parser - 3, y);
      } else {
        note(COLUMNS.in, y - 5, pass.label, "small branch");
        wire(COLUMNS.in + 84, y, COLUMNS.Parser - 3, y, "branch");
      }
      box(ingress, "Parser", row);
      wire(COLUMNS.Parser + BOX.width, y, COLUMNS.Ingress - 3, y);
      box(ingress, "Ingress", row, pass.number == null ? "" : `pipeline ${pass.number}`);
      if (egress >= 0)
        wires.push(draw("path", { class: "wire", d: `M${COLUMNS.Ingress + BOX.width} ${y}H${managerLeft + 46}` }));
      else wire(COLUMNS.Ingress + BOX.width, y, managerLeft - 3, y);
      if (pass.end === "dropped" && egress < 0) {
        parts.push(cross(managerLeft + 14, y));
        note(managerLeft + 30, y + 5, "dropped at the end of ingress", "dropped");
      }
    }
    if (egress >= 0) {
      const pass = passes[egress];
      const origin = shown.findIndex((each) => each.ingress === pass.from || each.egress === pass.from);
      const branch = pass.cause !== "unicast";
      if (ingress < 0 && origin >= 0) {
        const ofEgress = passes[pass.from]?.pipeline === "egress";
        // A clone of egress enters the queue before egress again.
        if (ofEgress)
          wires.push(
            draw("path", {
              class: "wire branch",
              d: `M${COLUMNS.Egress + BOX.width / 2} ${middle(origin) + BOX.height / 2}V${y - ROW / 2 + 6}H${managerLeft + 60}V${y - 17}`,
              "marker-end": "url(#packet-arrow)",
            }),
          );
        else
          wires.push(
            draw("path", {
              class: `wire${branch ? " branch" : ""}`,
              d: `M${managerLeft + 60} ${middle(origin) + 14}V${y - 17}`,
              "marker-end": "url(#packet-arrow)",
            }),
          );
      }
      if (branch) note(managerLeft + 40, ingress < 0 ? y + 4 : y - 20, pass.label, "small branch", "end");
      wire(managerLeft + 76, y, COLUMNS.Egress - 3, y, branch ? "branch" : "");
      box(egress, "Egress", row, pass.number == null ? "" : `pipeline ${pass.number}`);
      wire(COLUMNS.Egress + BOX.width, y, COLUMNS.Deparser - 3, y, branch ? "branch" : "");
      if (pass.end === "dropped" && !pass.blocks.has("Deparser")) {
        parts.push(cross(COLUMNS.Deparser + 14, y));
        note(COLUMNS.Deparser + 30, y + 5, "dropped at the end of egress", "dropped");
      } else {
        box(egress, "Deparser", row);
        if (pass.end === "transmitted") {
          wire(COLUMNS.Deparser + BOX.width, y, COLUMNS.out - 3, y, branch ? "branch" : "");
          note(COLUMNS.out + 4, y - 5, "leaves", "small");
          note(COLUMNS.out + 4, y + 12, `port ${pass.port}`, "port");
        } else {
          const next = passes.findIndex((each) => each.from === egress && each.cause === "recirculation");
          note(
            COLUMNS.Deparser + BOX.width + 10,
            y + 5,
            next >= 0 ? "↺ recirculated" : "dropped",
            next >= 0 ? "small branch" : "dropped",
          );
        }
      }
    }
    if (egress >= 0) {
      parts.push(
        draw(
          "g",
          { class: "box manager passed" },
          draw("circle", { cx: managerLeft + 60, cy: y, r: 14 }),
          draw("text", { x: managerLeft + 60, y: y + 4, "text-anchor": "middle" }, "TM"),
        ),
      );
    }
  }
  const picture = draw(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${height}`, role: "group", "aria-label": "Blocks of the switch that the packet passed" },
    draw(
      "defs",
      {},
      draw(
        "marker",
        {
          id: "packet-arrow",
          viewBox: "0 0 8 8",
          refX: 7,
          refY: 4,
          markerWidth: 7,
          markerHeight: 7,
          orient: "auto-start-reverse",
        },
        draw("path", { d: "M0 0L8 4L0 8z" }),
      ),
    ),
    ...wires,
    ...parts,
  );
  const more =
    rows.length > MAX_ROWS
      ? make("p", { class: "hint" }, `${rows.length - MAX_ROWS} further passes are in the list of steps only.`)
      : null;
  const element = make("div", { class: "pipeline" }, scrolling("The pipeline as a picture", picture));
  if (more) element.append(more);
  return {
    element,
    show(step) {
      const pass = passOf(passes, step);
      const block = steps[step]?.block;
      const wanted = block ? `${pass} ${BOX_OF[block]}` : "";
      for (const [name, each] of boxes) each.classList.toggle("current", name === wanted);
    },
  };
}

/**
 * Rows of the picture: an ingress pass with the first egress pass that follows it; each further one has its own.
 *
 * @param {Pass[]} passes
 */
function rowsOf(passes) {
  /** @type {{ ingress: number, egress: number }[]} */
  const rows = [];
  passes.forEach((pass, index) => {
    if (pass.pipeline === "ingress") return rows.push({ ingress: index, egress: -1 });
    const free = rows.find((row) => row.ingress === pass.from && row.egress < 0 && row.ingress >= 0);
    if (free) free.egress = index;
    else rows.push({ ingress: -1, egress: index });
  });
  return rows;
}

/** @param {number} x @param {number} y */
function cross(x, y) {
  return draw("path", {
    class: "cross",
    d: `M${x - 6} ${y - 6}L${x + 6} ${y + 6}M${x + 6} ${y - 6}L${x - 6} ${y + 6}`,
  });
}
