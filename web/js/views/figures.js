// The figures that the scenarios of runs define, and those of papers beside their repetitions, with files for papers.

import { get, url } from "../core/api.js";
import { fill, make, scrolling, table } from "../core/dom.js";
import * as plotly from "../core/plotly.js";
import * as router from "../core/router.js";
import { Figure } from "../parts/figure.js";
import { newest } from "../parts/newest.js";
import { problem } from "../parts/problem.js";

/** @typedef {import("../core/api.js").Schemas} Schemas */

/** Runs of an experiment, so that its figures have a spread. */
const SEEDS = 5;

/** @param {HTMLElement} place */
export function mount(place) {
  const head = make("section", { class: "card" });
  const charts = make("div", { class: "charts", id: "plots" });
  const notes = make("div", { id: "notes" });
  fill(place, make("h1", { class: "hidden" }, "Figures"), make("div", { class: "stack" }, head, notes, charts));
  /** @type {Figure[]} */
  let figures = [];
  let turn = 0;

  function clear() {
    for (const figure of figures) figure.close();
    figures = [];
    fill(notes);
    fill(charts);
  }

  /** @param {unknown} error */
  function failed(error) {
    fill(notes, problem(error));
  }

  /** @param {Schemas["PlottedFigure"][]} plotted @param {(name: string, kind: string) => string} address */
  function draw(plotted, address) {
    figures = plotted.map((each, at) => new Figure(each, at, (kind) => address(each.name, kind)));
    fill(charts, ...figures.map((figure) => figure.element));
    for (const figure of figures) figure.draw();
  }

  /** @param {router.Route} route */
  async function show({ path, query }) {
    const mine = ++turn;
    const ids = [...new Set(query.getAll("run"))];
    clear();
    try {
      if (ids.length) await ofRuns(ids, mine);
      else if (path.length >= 2) await ofPaper(path[0], path[1], mine);
      else await offer(mine);
    } catch (error) {
      if (mine === turn) failed(error);
    }
  }

  /** @param {string[]} ids @param {number} mine */
  async function ofRuns(ids, mine) {
    const title = make("h2", { id: "title" }, "Figures");
    fill(
      head,
      make(
        "div",
        { class: "head" },
        title,
        make(
          "p",
          { class: "buttons" },
          make(
            "a",
            { class: "button", id: "to-comparison", href: router.link(["compare"], { run: ids }) },
            "Compare the runs",
          ),
        ),
      ),
      make(
        "p",
        { class: "hint" },
        `Of ${ids.length} ${ids.length === 1 ? "run" : "runs"}. PNG, SVG and PDF are as wide as a column of a paper (3.5 inches); CSV has all digits, LaTeX needs the package booktabs.`,
      ),
    );
    fill(notes, make("p", { class: "empty" }, "Drawing …"));
    const [drawn, stored] = await Promise.all([
      /** @type {Promise<Schemas["Plots"]>} */ (get("/plots", { run: ids })),
      /** @type {Promise<Schemas["Runs"]>} */ (get("/runs", { id: ids, limit: ids.length })),
      plotly.load(),
    ]);
    if (mine !== turn) return;
    fill(title, [...new Set(stored.runs.map((run) => run.title || run.scenario))].join(", "));
    fill(notes, ...drawn.left_out.map((sentence) => make("p", { class: "hint" }, sentence)));
    draw(drawn.figures, (name, kind) => url(`/plots/${encodeURIComponent(name)}.${kind}`, { run: ids }));
  }

  /** An experiment of a paper beside its repetition. @param {string} paper @param {string} name @param {number} mine */
  async function ofPaper(paper, name, mine) {
    const address = `/evaluations/${encodeURIComponent(paper)}/${encodeURIComponent(name)}`;
    fill(head, make("h2", { id: "title" }, name), make("p", { class: "empty" }, "Drawing …"));
    const [found] = await Promise.all([
      /** @type {Promise<Schemas["ExperimentFigures"]>} */ (get(address)),
      plotly.load(),
    ]);
    if (mine !== turn) return;
    const { title, source, scenario, changes } = found.experiment;
    const commands = [
      `netkv scenario run ${scenario}${changes.map((change) => ` --set '${change}'`).join("")}`,
      found.command,
    ];
    fill(
      head,
      make(
        "div",
        { class: "head" },
        make("h2", { id: "title" }, title),
        make(
          "p",
          { class: "buttons" },
          make(
            "a",
            {
              class: "button",
              id: "to-scenario",
              href: router.link(["scenarios", scenario], { set: [...changes, `repeat=${SEEDS}`] }),
            },
            `Run it with ${SEEDS} seeds`,
          ),
        ),
      ),
      make(
        "p",
        { class: "hint" },
        `${found.paper}, ${source}. Repeat it with `,
        make("code", {}, commands[1]),
        "; one run of it: ",
        make("code", {}, commands[0]),
      ),
      scrolling("Figures beside those of the paper", claims(found.rows)),
      ...causes(found.rows),
    );
    draw(found.figures, (figure, kind) => url(`${address}/${encodeURIComponent(figure)}.${kind}`));
  }

  /** What has figures. @param {number} mine */
  async function offer(mine) {
    fill(head, make("h2", { id: "title" }, "Figures of the newest runs"), make("p", { class: "empty" }, "Loading …"));
    const [list, papers] = await Promise.all([
      newest("figures", (runs) => runs.some((run) => run.status === "done")),
      /** @type {Promise<Schemas["EvaluationSummary"][]>} */ (get("/evaluations")),
    ]);
    if (mine !== turn) return;
    fill(head, make("h2", { id: "title" }, "Figures of the newest runs"), list);
    fill(charts, scoreboard(papers), ...papers.map(paperCard));
  }

  return {
    show,
    close() {
      turn += 1;
      clear();
    },
  };
}

/** How many claims agree. @param {Schemas["NearRows"]} rows */
function near(rows) {
  return rows.rows === 0 ? "" : `${rows.near} of ${rows.rows}`;
}

/** The counts of a paper or an experiment. @param {Schemas["Scores"]} of */
function counts(of) {
  return [
    near(of.by_seed),
    near(of.as_published),
    near(of.alike),
    near(of.predicted),
    of.alike.rows === 0 ? "" : String(of.direction),
    near(of.text),
    near(of.words),
    near(of.moved),
  ];
}

const COUNTS = [
  "by seed",
  "as published",
  "like with like",
  "predicted",
  "direction only",
  "numbers of the text",
  "words",
  "control",
];

/** How near netkv is to all papers. @param {Schemas["EvaluationSummary"][]} papers */
function scoreboard(papers) {
  const found = table(
    ["paper", ...COUNTS],
    papers.map(({ name, scores }) => [name, ...counts(scores)]),
  );
  found.id = "scoreboard";
  return make(
    "section",
    { class: "card" },
    make("h2", {}, "The papers’ figures"),
    make(
      "p",
      { class: "hint" },
      "Rows within 15% of a number of the paper or its artefact. Like with like: measured as the paper has, where there is such a run. Direction only: farther, but a ratio on the paper’s side of 1. Control: rows that would be near if the papers’ figures were 40% larger.",
    ),
    scrolling("How near netkv is to the papers", found),
  );
}

/** @param {Schemas["EvaluationSummary"]} paper */
function paperCard({ name, paper, experiments }) {
  const rows = experiments
    .filter((each) => each.measured)
    .map((each) => [
      make(
        "span",
        {},
        make("a", { href: router.link(["figures", name, each.name]) }, each.title),
        " ",
        make("span", { class: "hint" }, each.counted ? each.source : `${each.source}, not counted`),
      ),
      ...counts(each.scores),
    ]);
  return make(
    "section",
    { class: "card paper" },
    make("h2", {}, paper, " ", make("span", { class: "unit" }, name)),
    make("p", { class: "hint" }, "The paper’s figures beside their repetition in netkv."),
    scrolling(`Experiments of ${name}`, table(["experiment", ...COUNTS], rows)),
  );
}

/** The table of `netkv reproduce`. @param {Schemas["ClaimRow"][]} rows */
function claims(rows) {
  const twice = rows.some((row) => row.as_published != null);
  const body = rows.map((row, at) => {
    const number = (/** @type {number | null} */ value) =>
      value == null
        ? ""
        : value.toLocaleString("en", { minimumFractionDigits: row.digits, maximumFractionDigits: row.digits });
    const figures = (/** @type {Schemas["ClaimSpread"]} */ spread) => [
      make("td", { title: spread.mean }, number(spread.mean)),
      spread.low == null ? "" : `${number(spread.low)} to ${number(spread.high)}`,
      verdict(spread, row),
    ];
    return [
      row.quantity === rows[at - 1]?.quantity ? "" : row.quantity,
      typeof row.at === "number" ? row.at.toLocaleString("en", { maximumFractionDigits: 10 }) : String(row.at ?? ""),
      row.paper,
      number(row.artefact),
      ...figures(row.by_seed),
      ...(row.as_published == null ? (twice ? ["", "", ""] : []) : figures(row.as_published)),
    ];
  });
  const head = ["quantity", "at", "paper", "artefact", "netkv", "99% of seeds", "difference"];
  const again = twice ? ["as published", "99% of seeds", "difference"] : [];
  const found = table([...head, ...again], body);
  found.id = "claims";
  return found;
}

const KINDS = { predicted: "", calibrated: "calibrated", fixed: "fixed by the set-up" };

/** What a figure is beside the paper's. @param {Schemas["ClaimSpread"]} spread @param {Schemas["ClaimRow"]} row */
function verdict({ difference, holds }, { kind, unlike, paper, artefact }) {
  if (paper === "" && artefact == null) return "";
  if (unlike != null) return `another quantity: ${unlike}`;
  const found =
    difference != null
      ? `${difference >= 0 ? "+" : ""}${(100 * difference).toFixed(0)}%`
      : holds == null
        ? ""
        : holds
          ? "holds"
          : "does not hold";
  return [found, KINDS[kind]].filter(Boolean).join(", ");
}

/** Why rows differ, a paragraph for each quantity. @param {Schemas["ClaimRow"][]} rows */
function causes(rows) {
  const found = new Map(rows.filter((row) => row.cause != null).map((row) => [row.quantity, row]));
  return [...found.values()].map(({ quantity, cause, cause_shown_by: shown }) =>
    make(
      "p",
      { class: "hint cause" },
      make("strong", {}, `${quantity}: `),
      cause ?? "",
      shown == null ? "" : make("span", {}, " Shown by ", make("code", {}, shown), "."),
    ),
  );
}
