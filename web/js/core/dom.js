// Creates elements. Text is always set as text, so text of a run cannot become markup.

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * `make("td", {class: "bad"}, "text", child, ...)`. Functions become event listeners; false, null and undefined are
 * left out.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, unknown>} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, /** @type {EventListener} */ (value));
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, String(value));
  }
  element.append(...present(children));
  return element;
}

/**
 * Replaces the content of an element, and keeps the keyboard focus on the element with the same id.
 *
 * @param {Element} place
 * @param {...Child} children
 */
export function fill(place, ...children) {
  const focused = document.activeElement?.id;
  place.replaceChildren(...present(children));
  if (focused && document.activeElement?.id !== focused)
    document.getElementById(focused)?.focus({ preventScroll: true });
}

/**
 * @param {Child[]} children
 * @returns {(Node | string)[]}
 */
function present(children) {
  return children
    .filter((child) => child != null && child !== false)
    .map((child) => (child instanceof Node ? child : String(child)));
}

/** The element with an id, which must exist. @param {string} id */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`There is no element '${id}'.`);
  return found;
}

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element of an SVG picture.
 *
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, unknown>} [attributes]
 * @param {...Child} children
 * @returns {SVGElementTagNameMap[Tag]}
 */
export function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, /** @type {EventListener} */ (value));
    else if (value !== false && value != null) element.setAttribute(name, String(value));
  }
  element.append(...present(children));
  return element;
}

/**
 * A sample of the line of a run; grey without a style.
 *
 * @param {import("./looks.js").Look} [look]
 */
export function swatch(look) {
  const dash = look && look.line.dash !== "solid" ? look.line.dash : null;
  const line = draw("line", { x1: 0, y1: 5, x2: 24, y2: 5, stroke: look?.line.color, "stroke-dasharray": dash });
  return draw("svg", { class: "swatch", "aria-hidden": "true", viewBox: "0 0 24 10" }, line);
}

/** Text for screen readers, where the rest of the page shows it to others. @param {string} text */
export function spoken(text) {
  return make("span", { class: "hidden" }, text);
}

/**
 * A region that scrolls, also by the keyboard.
 *
 * @param {string} label
 * @param {Child[]} children
 */
export function scrolling(label, ...children) {
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, ...children);
}

/**
 * A table from a list of headings and rows of cells (strings or elements).
 *
 * @param {Child[]} headings
 * @param {Child[][]} rows
 */
export function table(headings, rows) {
  // A column of names or of buttons needs no heading that is seen.
  const heading = (/** @type {Child} */ text, /** @type {number} */ at) =>
    text === "" ? spoken(at === 0 ? "name" : "actions") : text;
  const head = make("tr", {}, ...headings.map((text, at) => make("th", { scope: "col" }, heading(text, at))));
  const body = rows.map((cells) =>
    make("tr", {}, ...cells.map((cell) => (cell instanceof HTMLTableCellElement ? cell : make("td", {}, cell)))),
  );
  return make("table", {}, make("thead", {}, head), make("tbody", {}, ...body));
}
