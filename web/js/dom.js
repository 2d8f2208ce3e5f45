// Creates elements. Text is always set as text, so text of a run cannot become markup.

/** `make("td", {class: "bad"}, "text", child, ...)`. Functions become event listeners. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

export function byId(id) {
  return document.getElementById(id);
}

const SVG = "http://www.w3.org/2000/svg";

/** A sample of the line of a run; grey without a style. */
export function swatch(look) {
  const sample = document.createElementNS(SVG, "svg");
  const line = document.createElementNS(SVG, "line");
  for (const [name, value] of Object.entries({ class: "swatch", "aria-hidden": "true", viewBox: "0 0 24 10" })) sample.setAttribute(name, value);
  for (const [name, value] of Object.entries({ x1: 0, y1: 5, x2: 24, y2: 5 })) line.setAttribute(name, value);
  if (look) line.setAttribute("stroke", look.line.color);
  if (look && look.line.dash !== "solid") line.setAttribute("stroke-dasharray", look.line.dash);
  sample.append(line);
  return sample;
}

/** A table from a list of headings and rows of cells (strings or elements). */
export function table(headings, rows) {
  const head = make("tr", {}, ...headings.map((text) => make("th", { scope: "col" }, text)));
  const body = rows.map((cells) =>
    make("tr", {}, ...cells.map((cell) => (cell instanceof HTMLTableCellElement ? cell : make("td", {}, cell)))),
  );
  return make("table", {}, make("thead", {}, head), make("tbody", {}, ...body));
}
