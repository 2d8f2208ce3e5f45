// A figure that the server has made, as in its files; only the colours of the theme are set here.

import { make, table } from "../core/dom.js";
import { colour } from "../core/theme.js";
import * as theme from "../core/theme.js";

/** @typedef {import("../core/api.js").Schemas["PlottedFigure"]} Plotted */

const CONFIG = { responsive: true, displaylogo: false, displayModeBar: false };
/** Height of the title in a layout; here the title is a heading above the figure. */
const TITLE = 24;
/** Format of a file → its text; pictures are as wide as a column of a paper. */
const FILES = /** @type {const} */ ([
  ["png", "PNG"],
  ["svg", "SVG"],
  ["pdf", "PDF"],
  ["csv", "CSV"],
  ["tex", "LaTeX"],
]);

/** One figure with its files and its numbers. */
export class Figure {
  /**
   * @param {Plotted} plotted
   * @param {number} at its number on the page
   * @param {(kind: string) => string} address of its file of a kind
   */
  constructor(plotted, at, address) {
    this.plotted = plotted;
    const id = `plot-${at}`;
    const { name, title } = plotted;
    const links = FILES.map(([kind, text]) =>
      make("a", { href: address(kind), download: `${name}.${kind}`, "aria-label": `${title} as ${text}` }, text),
    );
    this.place = make("div", { id, class: "figure", role: "img", "aria-labelledby": `${id}-title` });
    const numbers = make(
      "details",
      { class: "numbers", toggle: () => this.fillTable() },
      make("summary", {}, "Numbers"),
      make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `${title} as a table` }),
    );
    this.numbers = numbers;
    this.element = make(
      "section",
      { class: "card" },
      make(
        "div",
        { class: "head" },
        make("h2", { id: `${id}-title` }, title),
        make("p", { class: "files figure-files" }, ...links),
      ),
      this.place,
      numbers,
    );
    this.drawn = false;
    this.unwatch = theme.watch(() => this.drawn && this.draw());
  }

  /** Draws it; its element must be in the page, and plotly loaded. */
  draw() {
    this.drawn = true;
    const { data, layout: given } = this.plotted;
    const layout = /** @type {Record<string, any>} */ (given);
    const axis = { gridcolor: colour("--line"), linecolor: colour("--line") };
    const themed = {
      ...layout,
      title: undefined,
      autosize: true,
      height: layout.height - TITLE,
      margin: { ...layout.margin, t: layout.margin.t - TITLE },
      font: { color: colour("--soft"), size: 12, family: "inherit" },
      legend: { ...layout.legend, font: { color: colour("--text") } },
      hoverlabel: { bgcolor: colour("--card"), bordercolor: colour("--line"), font: { color: colour("--text") } },
      xaxis: { ...layout.xaxis, ...axis },
      yaxis: { ...layout.yaxis, ...axis },
    };
    // plotly changes its arguments.
    window.Plotly.react(this.place, structuredClone(data), structuredClone(themed), CONFIG);
  }

  fillTable() {
    const place = this.numbers.lastElementChild;
    const { headings, rows } = this.plotted.numbers;
    place?.replaceChildren(
      ...(this.numbers.open
        ? [
            table(
              headings,
              rows.map((row) => row.map((value) => value ?? "")),
            ),
          ]
        : []),
    );
  }

  close() {
    this.unwatch();
    if (this.drawn) window.Plotly.purge(this.place);
    this.element.remove();
  }
}
