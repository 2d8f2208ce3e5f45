// A card with a chart: title, downloads, and the numbers as a table for those who do not see the picture.

import { fill, make, table } from "../core/dom.js";
import * as plotly from "../core/plotly.js";
import { colour } from "../core/theme.js";
import * as theme from "../core/theme.js";
import { save, saveUrl } from "./files.js";
import { stepped } from "./steps.js";

/** @typedef {import("./choices.js").Choices} Choices */
/** @typedef {import("./choices.js").Range} Range */
/** @typedef {{ x: any[], y: any[], name?: string, z?: (number | null)[][], lengths?: number[], below?: number[], [option: string]: any }} Trace `lengths`: its values are about intervals that end at x */
/** @typedef {{ traces: Trace[], x?: object, y?: object, shapes?: object[], annotations?: object[], layout?: object, empty?: string }} Drawing */

const CONFIG = { responsive: true, displaylogo: false, displayModeBar: false };
/** Size of a downloaded picture: a column of a paper, 3.5 inches at 300 dots per inch. */
const FILE = { width: 525, height: 315, scale: 2 };
/** Milliseconds between two drawings of one chart, at least and at most; a rack gives a sample each second. */
const PAUSE_MS = [1000, 4000];
/** The pause is so many times the time of a drawing: a chart takes at most 2% of the time, on slow machines, too. */
const SHARE = 50;
/** A chart is drawn when it is so near to what is visible; drawn again only when it is visible. */
const NEAR = "200px";
/** Charts that are due. One is drawn in a frame: it takes up to 0.1 s, and the page is to answer in between. @type {Set<Chart>} */
const waiting = new Set();

/** @param {Chart} chart */
function drawSoon(chart) {
  if (!waiting.size) requestAnimationFrame(drawNext);
  waiting.add(chart);
}

function drawNext() {
  const [chart] = waiting;
  waiting.delete(chart);
  if (waiting.size) requestAnimationFrame(drawNext);
  chart.now();
}

/** One chart. `update` may be called at any rate; it is drawn when it is visible. */
export class Chart {
  /**
   * @param {object} about
   * @param {string} about.id id of the chart's element
   * @param {string} about.title
   * @param {string} [about.unit] smaller text behind the title
   * @param {string} [about.meaning] what is shown, for readers who point at the title
   * @param {boolean} [about.wide] over both columns
   * @param {(value: unknown) => string} [about.show] a value in the table
   * @param {Choices} about.choices those of its view
   * @param {boolean} [about.overTime] whether it shows the same part of the horizontal axis as the other charts over time
   */
  constructor({ id, title, unit = "", meaning = "", wide = false, show = String, choices, overTime = false }) {
    this.id = id;
    this.title = title;
    this.show = show;
    /** @type {(() => Drawing) | null} */
    this.source = null;
    /** @type {Drawing | null} */
    this.drawing = null;
    this.near = false;
    this.visible = false;
    this.nextAt = 0;
    this.timer = 0;
    this.choices = choices;
    this.overTime = overTime;
    this.reset = make(
      "button",
      {
        type: "button",
        class: "link",
        hidden: true,
        click: () => this.choose(null, null),
        "aria-label": `${title}: show everything again`,
      },
      "Reset zoom",
    );
    this.place = make("div", { id, class: "chart", role: "img", "aria-labelledby": `${id}-title` });
    this.numbers = make(
      "details",
      { class: "numbers", toggle: () => this.fillTable() },
      make("summary", {}, "Numbers"),
      make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `${title} as a table` }),
    );
    this.element = make(
      "section",
      { class: wide ? "card wide" : "card" },
      make(
        "div",
        { class: "head" },
        make("h2", { id: `${id}-title`, title: meaning }, title, " ", make("span", { class: "unit" }, unit)),
        this.tools(),
      ),
      this.place,
      this.numbers,
    );
    const observe = (/** @type {(there: boolean) => void} */ set, /** @type {string} */ rootMargin) => {
      const observer = new IntersectionObserver(
        (entries) => {
          set(entries.at(-1)?.isIntersecting ?? false);
          this.soon();
        },
        { rootMargin },
      );
      observer.observe(this.place);
      return observer;
    };
    this.observers = [observe((there) => (this.near = there), NEAR), observe((there) => (this.visible = there), "0px")];
    this.about = "";
    const ends = [theme.watch(() => this.atOnce()), choices.watch(() => this.atOnce())];
    this.unwatch = () => ends.forEach((end) => end());
  }

  /**
   * Draws what `source` returns: at once if it is about something else than before, else after a pause.
   *
   * @param {() => Drawing} source
   * @param {string} [about] names what is drawn: a selection, a run
   */
  update(source, about = "") {
    this.source = source;
    if (about === this.about) return this.soon();
    this.about = about;
    this.atOnce();
  }

  atOnce() {
    this.nextAt = 0;
    clearTimeout(this.timer);
    this.timer = 0;
    this.soon();
  }

  /** Removes the chart. */
  close() {
    clearTimeout(this.timer);
    for (const each of this.observers) each.disconnect();
    this.unwatch();
    if (this.drawing) window.Plotly.purge(this.place);
    this.element.remove();
  }

  soon() {
    const due = this.visible || (this.near && !this.drawing);
    if (!due || this.timer || !this.source) return;
    // If the server is away, the next change tries again.
    if (!plotly.isLoaded())
      return void plotly.load().then(
        () => this.soon(),
        () => {},
      );
    const wait = Math.max(0, this.nextAt - performance.now());
    this.timer = window.setTimeout(() => drawSoon(this), wait);
  }

  now() {
    this.timer = 0;
    if (!this.source || !this.place.isConnected) return;
    const begun = performance.now();
    this.drawing = this.source();
    const isFirst = !("data" in this.place);
    window.Plotly.react(
      this.place,
      this.shown(this.drawing.traces).map(stepped),
      this.zoomed(layoutOf(this.id, this.drawing)),
      CONFIG,
    );
    if (isFirst) {
      const plot = /** @type {any} */ (this.place);
      plot.on("plotly_relayout", (/** @type {Record<string, any>} */ axes) => this.axesChanged(axes));
      plot.on("plotly_restyle", () => this.legendClicked(plot.data));
    }
    this.reset.hidden = !this.across && !this.along;
    if (this.numbers.open) this.fillTable();
    const [shortest, longest] = PAUSE_MS;
    this.nextAt = begun + Math.min(longest, Math.max(shortest, SHARE * (performance.now() - begun)));
  }

  /** The part of the horizontal axis that the user has chosen; null: everything. */
  get across() {
    return this.overTime ? this.choices.time : (this.choices.widths.get(this.id) ?? null);
  }

  /** The part of the vertical axis. */
  get along() {
    return this.choices.heights.get(this.id) ?? null;
  }

  /** What the user has done to the axes. @param {Record<string, any>} axes */
  axesChanged(axes) {
    const range = (/** @type {string} */ axis, /** @type {Range | null} */ before) => {
      if (axes[`${axis}.autorange`]) return null;
      const [from, to] = axes[`${axis}.range`] ?? [axes[`${axis}.range[0]`], axes[`${axis}.range[1]`]];
      return typeof from === "number" && typeof to === "number" ? /** @type {Range} */ ([from, to]) : before;
    };
    const across = range("xaxis", this.across);
    const along = range("yaxis", this.along);
    if (across !== this.across || along !== this.along) this.choose(across, along);
  }

  /** @param {Range | null} across @param {Range | null} along */
  choose(across, along) {
    if (this.overTime) this.choices.time = across;
    else keep(this.choices.widths, this.id, across);
    keep(this.choices.heights, this.id, along);
    this.choices.changed();
  }

  /** The user has hidden or shown lines. @param {Trace[]} traces as they are drawn now */
  legendClicked(traces) {
    const drawn = new Set(traces.map(({ name }) => name));
    const hidden = traces.filter(({ visible }) => visible === "legendonly").flatMap(({ name }) => name ?? []);
    // Lines of another run stay hidden, too.
    const others = (this.choices.hidden.get(this.id) ?? []).filter((name) => !drawn.has(name));
    const names = [...new Set([...others, ...hidden])];
    keep(this.choices.hidden, this.id, names.length ? names : null);
    this.choices.changed();
  }

  /** Lines of which some are hidden. @param {Trace[]} traces */
  shown(traces) {
    const names = this.choices.hidden.get(this.id) ?? [];
    return traces.map((trace) => (names.includes(trace.name ?? "") ? { ...trace, visible: "legendonly" } : trace));
  }

  /** A layout with the choices of the user, which stay when new points arrive. @param {Record<string, any>} layout */
  zoomed(layout) {
    const uirevision = this.choices.revision;
    const part = (/** @type {Range | null} */ range) => ({
      ...(range ? { range: [...range], autorange: false } : {}),
      uirevision,
    });
    return {
      ...layout,
      xaxis: { ...layout.xaxis, ...part(this.across) },
      yaxis: { ...layout.yaxis, ...part(this.along) },
      legend: { ...layout.legend, uirevision },
    };
  }

  fillTable() {
    const place = /** @type {HTMLElement} */ (this.numbers.lastElementChild);
    if (!this.numbers.open) return fill(place);
    const { headings, rows } = numbersOf(this.drawing?.traces ?? []);
    fill(
      place,
      table(
        headings,
        rows.map((row) => row.map((value) => (value == null ? "" : this.show(value)))),
      ),
    );
  }

  tools() {
    const picture = (/** @type {"png" | "svg"} */ format) => async () =>
      this.drawing && saveUrl(`${this.id}.${format}`, await window.Plotly.toImage(this.place, { format, ...FILE }));
    const csv = () => save(`${this.id}.csv`, "text/csv", csvOf(this.drawing?.traces ?? []));
    const button = (/** @type {string} */ text, /** @type {() => unknown} */ click) =>
      make("button", { type: "button", class: "link", click, "aria-label": `${this.title} as ${text}` }, text);
    return make(
      "p",
      { class: "files" },
      this.reset,
      button("PNG", picture("png")),
      button("SVG", picture("svg")),
      button("CSV", csv),
    );
  }
}

/**
 * The numbers of a chart: a row for each place on the axis, a column for each trace.
 *
 * @param {Trace[]} traces
 */
function numbersOf(traces) {
  /** @type {Map<any, any[]>} */
  const rows = new Map();
  traces.forEach((trace, at) => {
    const columns = trace.z ? (trace.z[0]?.map((_, index) => index) ?? []) : trace.x;
    columns.forEach((x, index) => {
      const key = trace.z ? trace.x[index] : x;
      const row = rows.get(key) ?? [];
      row[at] = trace.z ? trace.z.map((line) => line[index]).join(" ") : trace.y[index];
      rows.set(key, row);
    });
  });
  const headings = ["", ...traces.map((trace, at) => trace.name ?? `trace ${at + 1}`)];
  return { headings, rows: [...rows].map(([x, values]) => [x, ...headings.slice(1).map((_, at) => values[at])]) };
}

/** @param {Trace[]} traces */
function csvOf(traces) {
  const { headings, rows } = numbersOf(traces);
  const quote = (/** @type {unknown} */ value) =>
    /[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value);
  return [headings, ...rows].map((row) => row.map((value) => (value == null ? "" : quote(value))).join(",")).join("\n");
}

/** @param {string} id @param {Drawing} drawing */
function layoutOf(id, { traces, x = {}, y = {}, shapes = [], annotations = [], layout = {}, empty = "" }) {
  const axis = { gridcolor: colour("--line"), linecolor: colour("--line"), zeroline: false, automargin: true };
  const nothing = { text: empty, showarrow: false, xref: "paper", yref: "paper", x: 0.5, y: 0.5 };
  return {
    margin: { l: 50, r: 12, t: 8, b: 36 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: colour("--soft"), size: 12, family: "inherit" },
    hovermode: "x unified",
    hoverlabel: { bgcolor: colour("--card"), bordercolor: colour("--line"), font: { color: colour("--text") } },
    showlegend: traces.length > 1,
    legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: { color: colour("--text") } },
    barmode: "group",
    bargap: 0.25,
    xaxis: { ...axis, showgrid: false, ...x },
    yaxis: { ...axis, ...y },
    shapes: traces.length ? shapes : [],
    annotations: traces.length || !empty ? annotations : [nothing],
    uirevision: id,
    ...layout,
  };
}

/** Keeps the choice of a chart; null: it has none. @template T @param {Map<string, T>} choices @param {string} id @param {T | null} choice */
function keep(choices, id, choice) {
  if (choice === null) choices.delete(id);
  else choices.set(id, choice);
}
