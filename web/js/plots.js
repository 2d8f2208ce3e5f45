// The figures that the scenarios of the selected runs define. The server makes them, so they are equal
// to those of pages and files. Only the colours of the theme are set here.

import { get } from "./api.js";
import { byId, make } from "./dom.js";
import { colour } from "./theme.js";

const CONFIG = { responsive: true, displaylogo: false, displayModeBar: false };
/** Height of the title in a layout; here the title is a heading above the figure. */
const TITLE = 24;

let figures = [];
let drawn = "";
let newest = 0;

/** Loads and draws the figures of the finished runs, if these have changed. */
export async function render(runs) {
  const finished = runs.filter((run) => run.status !== "running");
  const key = finished.map((run) => `${run.id} ${run.status}`).join();
  if (key === drawn) return;
  drawn = key;
  const mine = ++newest;
  const query = finished.map((run) => `run=${encodeURIComponent(run.id)}`).join("&");
  const loaded = finished.length ? await load(query) : { figures: [], left_out: [] };
  // The selection may have changed in the meantime.
  if (mine !== newest) return;
  figures = loaded.figures;
  byId("plots").replaceChildren(
    ...figures.map((figure, index) => card(figure, index, query)),
    ...loaded.left_out.map((sentence) => make("p", { class: "hint" }, sentence)),
  );
  redraw();
}

/** Draws them again, in the colours of the theme. */
export function redraw() {
  const axis = { gridcolor: colour("--line"), linecolor: colour("--line") };
  figures.forEach(({ data, layout }, index) => {
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
    window.Plotly.react(place(index), structuredClone(data), structuredClone(themed), CONFIG);
  });
}

async function load(query) {
  try {
    return await get(`/api/v1/plots?${query}`);
  } catch (error) {
    drawn = "";
    return { figures: [], left_out: [error.message] };
  }
}

function card({ name, title }, index, query) {
  const heading = `${place(index)}-title`;
  const links = ["svg", "png"].map((kind) =>
    make("a", { href: `/api/v1/plots/${name}.${kind}?${query}`, download: `${name}.${kind}`, "aria-label": `${title} as ${kind.toUpperCase()}` }, kind.toUpperCase()),
  );
  return make(
    "section",
    { class: "card" },
    make("div", { class: "head" }, make("h2", { id: heading }, title), make("p", { class: "files" }, ...links)),
    make("div", { id: place(index), class: "plot", role: "img", "aria-labelledby": heading }),
  );
}

function place(index) {
  return `plot-${index}`;
}
