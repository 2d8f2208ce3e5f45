// What the program of a switch holds: entries of tables, cells of counters, cached keys; and the hottest keys.

import { get } from "../../core/api.js";
import { fill, make, table } from "../../core/dom.js";
import { count } from "../../core/format.js";
import { problem, sentenceOf } from "../../parts/problem.js";

/** @typedef {import("../../core/api.js").Schemas} Schemas */

/** @typedef {{ index: number, packets: number, bytes: number }} Cell */

const PAGE = 20;

/**
 * A part that is loaded in pages.
 *
 * @param {string} id
 * @param {(offset: number) => Promise<{ content: HTMLElement, more: boolean, text: string }>} load
 */
function pages(id, load) {
  let offset = 0;
  const place = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Entries" });
  const where = make("span", { class: "hint", role: "status" });
  const back = make(
    "button",
    { type: "button", class: "small", id: `${id}-back`, click: () => turn(offset - PAGE) },
    "Previous",
  );
  const next = make(
    "button",
    { type: "button", class: "small", id: `${id}-next`, click: () => turn(offset + PAGE) },
    "Next",
  );
  const again = make(
    "button",
    { type: "button", class: "small", id: `${id}-again`, click: () => turn(offset) },
    "Read again",
  );
  let newest = 0;
  async function turn(/** @type {number} */ to) {
    const mine = ++newest;
    try {
      const { content, more, text } = await load(Math.max(0, to));
      if (mine !== newest) return;
      offset = Math.max(0, to);
      fill(place, content);
      fill(where, text);
      back.disabled = offset === 0;
      next.disabled = !more;
    } catch (error) {
      fill(place, problem(error));
    }
  }
  return { element: make("div", {}, place, make("p", { class: "buttons paging" }, back, next, again, where)), turn };
}

/**
 * The tables and counters of a switch; the chosen one is shown with its entries.
 *
 * @param {string} lab
 * @param {Schemas["NodeDetails"]} details
 * @param {string} chosen name of a table or counter
 * @param {(name: string) => void} choose
 */
export function tables(lab, details, chosen, choose) {
  const path = `/labs/${encodeURIComponent(lab)}/nodes/${encodeURIComponent(details.node.name)}`;
  if (details.problem) return make("p", { class: "problem" }, details.problem);
  const names = [...details.tables.map((each) => each.name), ...details.counters.map((each) => each.name)];
  const wanted = names.includes(chosen) ? chosen : preferred(details);
  const select = make(
    "select",
    { id: "table", change: () => show(select.value, true) },
    make(
      "optgroup",
      { label: "Tables" },
      ...details.tables.map((each) =>
        make("option", { value: each.name }, `${shortName(each.name)} (room for ${count(each.size)})`),
      ),
    ),
    make(
      "optgroup",
      { label: "Counters" },
      ...details.counters.map((each) =>
        make("option", { value: each.name }, `${shortName(each.name)} (${count(each.size)} cells)`),
      ),
    ),
  );
  const place = make("div");
  function show(/** @type {string} */ name, /** @type {boolean} */ asked) {
    if (asked) choose(name);
    const about = details.tables.find((each) => each.name === name);
    const part = pages(
      "entries",
      about ? (offset) => entries(path, about, offset) : (offset) => cells(path, name, offset),
    );
    fill(
      place,
      about &&
        make(
          "p",
          { class: "hint" },
          `Key: ${about.keys.map((key) => `${key.name} (${key.kind}, ${key.bits} bits)`).join(", ") || "none: it has a default action only"}`,
        ),
      part.element,
    );
    part.turn(0);
  }
  if (!wanted) return make("p", { class: "empty" }, "The program has no tables.");
  select.value = wanted;
  show(wanted, false);
  return make("div", {}, make("label", { for: "table" }, "Table or counter"), select, place);
}

/** The table with most room is the one of the scheme's cache, if it has one. @param {Schemas["NodeDetails"]} details */
function preferred(details) {
  return [...details.tables].sort((a, b) => b.size - a.size)[0]?.name ?? details.counters[0]?.name ?? "";
}

/** @param {string} name */
function shortName(name) {
  return name.split(".").slice(1).join(".") || name;
}

/** @param {string} path @param {Schemas["TableInfo"]} about @param {number} offset */
async function entries(path, about, offset) {
  const found = /** @type {Required<Schemas["TableContents"]>} */ (
    await get(`${path}/tables/${encodeURIComponent(about.name)}`, { offset, limit: PAGE })
  );
  const action = (/** @type {Schemas["EntryInfo"]} */ entry) =>
    `${entry.action.split(".").pop()}(${Object.entries(entry.params)
      .map(([name, value]) => `${name}=${value}`)
      .join(", ")})`;
  const counted = found.entries.some((entry) => entry.packets != null);
  const rows = found.entries.map((entry) => [
    ...about.keys.map((key) => make("code", {}, entry.match[key.name] ?? "any")),
    make("code", {}, action(entry)),
    ...(counted ? [count(entry.packets)] : []),
  ]);
  const other = found.default
    ? make("p", { class: "hint" }, "Otherwise: ", make("code", {}, action(found.default)))
    : null;
  const content = make(
    "div",
    {},
    found.entries.length
      ? table([...about.keys.map((key) => key.name), "action", ...(counted ? ["packets"] : [])], rows)
      : make("p", { class: "empty" }, "No entries."),
    other,
  );
  return {
    content,
    more: found.more,
    text: found.entries.length ? `Entries ${count(offset + 1)} to ${count(offset + found.entries.length)}` : "",
  };
}

/** @param {string} path @param {string} name @param {number} offset */
async function cells(path, name, offset) {
  const found = /** @type {Cell[]} */ (
    await get(`${path}/counters/${encodeURIComponent(name)}`, { offset, limit: PAGE })
  );
  const content = found.length
    ? table(
        ["cell", "packets", "bytes"],
        found.map((cell) => [cell.index, count(cell.packets), count(cell.bytes)]),
      )
    : make("p", { class: "empty" }, "No cells.");
  return {
    content,
    more: found.length === PAGE,
    text: found.length ? `Cells ${offset} to ${offset + found.length - 1}` : "",
  };
}

/**
 * The hottest keys of the load generator, and all keys that a switch caches.
 *
 * @param {string} lab
 * @param {string} node
 */
export function keys(lab, node) {
  const path = `/labs/${encodeURIComponent(lab)}`;
  const hottest = make("div", {});
  const cached = pages("cached", async (offset) => {
    const found = /** @type {Schemas["CachedKeys"]} */ (
      await get(`${path}/nodes/${encodeURIComponent(node)}/cached`, { offset, limit: PAGE })
    );
    const content = make(
      "ol",
      { class: "keys", start: offset + 1 },
      ...found.keys.map((key) => make("li", {}, make("code", {}, key))),
    );
    return {
      content: found.keys.length ? content : make("p", { class: "empty" }, "It has no key cached."),
      more: offset + found.keys.length < found.total,
      text: `${count(found.total)} cached`,
    };
  });
  async function refresh() {
    try {
      const found = /** @type {Schemas["HotKey"][]} */ (await get(`${path}/hottest`, { limit: 10 }));
      fill(
        hottest,
        table(
          ["rank", "key", "cached"],
          found.map((each) => [
            each.rank,
            make("code", {}, each.key),
            make("td", { class: each.cached ? "good" : "" }, each.cached ? "✓ yes" : "no"),
          ]),
        ),
      );
    } catch (error) {
      fill(hottest, make("p", { class: "empty" }, sentenceOf(error)));
    }
  }
  cached.turn(0);
  return {
    element: make(
      "div",
      {},
      make("h3", {}, "Hottest keys of the load generator"),
      hottest,
      make("h3", {}, "Keys that this switch has cached"),
      cached.element,
    ),
    refresh,
  };
}
