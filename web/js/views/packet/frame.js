// The bytes of a frame: which belong to which header and field, and which differ from another frame.

import { make } from "../../core/dom.js";
import { meaning } from "./words.js";

/** @typedef {import("./replay.js").Segment} Segment */
/** @typedef {{ header: string, cells: { fields: import("./replay.js").PlacedField[], bytes: string, start: number }[] }} Block */

/**
 * Headers of a frame, and the rest as `payload`. Fields that share a byte are one cell.
 *
 * @param {string} hex
 * @param {Segment[]} layout
 * @returns {Block[]}
 */
export function blocksOf(hex, layout) {
  /** @type {Block[]} */
  const blocks = [];
  let end = 0;
  for (const { header, fields } of layout) {
    /** @type {Block} */
    const block = { header, cells: [] };
    let group = [];
    for (const field of fields) {
      group.push(field);
      const stop = field.start + field.bits;
      if (stop % 8) continue;
      const start = group[0].start / 8;
      block.cells.push({ fields: group, bytes: hex.slice(2 * start, stop / 4), start });
      group = [];
      end = stop / 8;
    }
    blocks.push(block);
  }
  const rest = hex.slice(2 * end);
  if (rest)
    blocks.push({ header: layout.length ? "payload" : "bytes", cells: [{ fields: [], bytes: rest, start: end }] });
  return blocks;
}

/**
 * Fields of a frame → their bytes, to compare it with another frame.
 *
 * @param {Block[]} blocks
 * @returns {Map<string, string>}
 */
export function bytesOf(blocks) {
  return new Map(blocks.flatMap((block) => block.cells.map((cell) => [keyOf(block, cell), cell.bytes])));
}

/** @param {Block} block @param {Block["cells"][number]} cell */
function keyOf(block, cell) {
  return `${block.header} ${cell.fields.map((field) => field.name).join(" ")}`;
}

/**
 * A byte map.
 *
 * @param {string} title
 * @param {Block[]} blocks
 * @param {{ before?: Map<string, string>, values?: (header: string, field: string) => string | null, current?: string }} [options]
 *   `before`: fields of another frame that this one is compared with; `values`: values of fields at a step; `current`: a
 *   header or field (`hdr.kv`, `hdr.kv.op`) to mark
 */
export function byteMap(title, blocks, { before, values, current = "" } = {}) {
  /** @type {Map<string, number>} */
  const colours = new Map();
  const rows = blocks.map((block) => {
    const rest = block.cells.length === 1 && !block.cells[0].fields.length;
    const added =
      before && !rest && block.cells.length > 0 && !block.cells.some((cell) => before.has(keyOf(block, cell)));
    const cells = block.cells.map((cell) => {
      const old = before?.get(keyOf(block, cell));
      const now = values && cell.fields.map((field) => values(block.header, field.name));
      const set = now?.some((value) => value != null);
      const changed = set || (before && !added && old !== cell.bytes);
      const marked =
        cell.fields.some((field) => current === `${block.header}.${field.name}`) || current === block.header;
      const names = cell.fields.map((field) => field.name).join(", ");
      const notes = [
        `byte ${cell.start}${cell.bytes.length > 2 ? `–${cell.start + cell.bytes.length / 2 - 1}` : ""}`,
        cell.fields.length === 1 ? meaning(`0x${cell.bytes}`, cell.fields[0].bits, names) : "",
        changed && old != null ? `before: ${old}` : "",
        set ? `now: ${now?.filter(Boolean).join(", ")}` : "",
      ].filter(Boolean);
      return make(
        "li",
        {
          class: `field${changed ? " changed" : ""}${marked ? " marked" : ""}`,
          title: `${names || block.header}: ${notes.join("; ")}`,
        },
        names && make("span", { class: "name" }, names),
        set
          ? make(
              "span",
              { class: "bytes" },
              make("del", {}, spaced(cell.bytes)),
              " ",
              make("ins", {}, now?.map((value) => (value == null ? "=" : spaced(value.slice(2)))).join(" | ")),
            )
          : make("span", { class: "bytes" }, spaced(cell.bytes)),
        changed && !set && make("span", { class: "hidden" }, old != null ? ` changed, was ${old}` : " changed"),
      );
    });
    // The elements of a stack have one colour.
    const stack = block.header.replace(/\[\d+\]$/, "");
    if (!rest && !colours.has(stack)) colours.set(stack, colours.size % 6);
    const place = rest ? "rest" : colours.get(stack);
    return make(
      "div",
      { class: `header-row colour-${place}${current === block.header ? " marked" : ""}` },
      make("span", { class: "header-name" }, block.header.replace(/^hdr\./, ""), added && make("em", {}, "new")),
      make("ul", { class: "fields", "aria-label": block.header }, ...cells),
    );
  });
  return make(
    "figure",
    { class: "bytemap" },
    make("figcaption", {}, title),
    rows.length ? make("div", { class: "rows" }, ...rows) : make("p", { class: "empty" }, "No bytes."),
  );
}

/** @param {string} hex */
function spaced(hex) {
  return hex.replace(/..(?=.)/g, "$& ");
}
