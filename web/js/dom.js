// Making elements. Text is always set as text, so nothing from a run can become markup.

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

/** A little square in the colour of a run. The style is set by script: the policy forbids inline ones. */
export function swatch(colour) {
  const square = make("span", { class: "swatch", "aria-hidden": "true" });
  if (colour) square.style.background = colour;
  return square;
}

/** A table from a list of headings and rows of cells (strings or elements). */
export function table(headings, rows) {
  const head = make("tr", {}, ...headings.map((text) => make("th", { scope: "col" }, text)));
  const body = rows.map((cells) =>
    make("tr", {}, ...cells.map((cell) => (cell instanceof HTMLTableCellElement ? cell : make("td", {}, cell)))),
  );
  return make("table", {}, make("thead", {}, head), make("tbody", {}, ...body));
}
