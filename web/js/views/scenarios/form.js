// The form of a scenario: its sections, common options first.

import { fill, make, swatch } from "../../core/dom.js";
import { lookOf } from "../../core/looks.js";
import { field, showErrors } from "./fields.js";
import { expectations, plots } from "./results.js";
import * as schema from "./schema.js";
import { sweep } from "./sweep.js";
import { timeline } from "./timeline.js";

/** @typedef {import("./fields.js").Form} Form */
/** @typedef {import("./fields.js").Field} Field */
/** @typedef {import("./schema.js").Node} Node */
/** @typedef {import("../../core/api.js").Schemas["SchemeSummary"]} Scheme */

/** Options that are shown first; those that the file sets are added. */
const COMMON = {
  "": ["mode", "duration", "warmup", "repeat", "seed"],
  lab: ["servers", "service_rate", "clients", "backend", "cache_entries"],
  workload: ["keys", "zipf", "writes", "value_size", "arrivals"],
};
const TEXTS = ["name", "title", "description"];
/** Options of the file as a whole with sections of their own. */
const OWN_SECTIONS = [...TEXTS, "schemes", "lab", "workload", "events", "random_faults", "sweep", "expect", "plots"];
/** A change writes the options of the base into the text, so the form has no field for it. */
const EXTENDS = "extends";

/**
 * @param {Form} form
 * @param {Scheme[]} schemes all that exist
 */
export function sections(form, schemes) {
  const { root } = form;
  const top = (/** @type {string} */ name) => field(form, [name], root.properties[name]);
  const rest = Object.keys(root.properties).filter((name) => ![...OWN_SECTIONS, EXTENDS].includes(name));
  /** @type {[string, string, Field[], Field[], string][]} title, id, common, others, hint */
  const all = [
    [
      "Schemes",
      "schemes",
      [chosenSchemes(form, schemes)],
      TEXTS.map(top),
      "What is compared. The first is the baseline of ratios.",
    ],
    ["Run", "run", ...split(form, [], root, rest), ""],
    [
      "Load",
      "load",
      ...split(form, ["workload"], schema.option(root, root.properties.workload).arms[0]),
      "The requests of the clients.",
    ],
    [
      "Lab",
      "lab",
      ...split(form, ["lab"], schema.option(root, root.properties.lab).arms[0]),
      "The rack. Options of schemes that are not chosen are hidden.",
    ],
    [
      "Sweep",
      "sweep",
      [sweep(form)],
      [],
      "Runs every scheme at every value of an option; two options give every combination.",
    ],
    [
      "Events",
      "events",
      [timeline(form)],
      [field(form, ["random_faults"], root.properties.random_faults)],
      "Faults and changes, in seconds from the start of the measured part.",
    ],
    ["Expectations", "expect", [expectations(form)], [], "Comparisons of figures that must hold after the runs."],
    ["Plots", "plots", [plots(form)], [], "Figures of the report."],
  ];
  const fields = all.flatMap(([, , common, others]) => [...common, ...others]);
  const parts = all.map(([title, id, common, others, hint]) => {
    const more =
      others.length > 0 &&
      make(
        "details",
        { class: "more", id: `more-${id}` },
        make("summary", {}, id === "schemes" ? "Name and description" : "All options"),
        make("div", { class: "grid" }, ...others.map((each) => each.element)),
      );
    return make(
      "section",
      { class: "card section", id: `section-${id}`, "aria-labelledby": `title-${id}` },
      make("div", { class: "head" }, make("h2", { id: `title-${id}` }, title), make("p", { class: "hint" }, hint)),
      make("div", { class: common.length === 1 ? "" : "grid" }, ...common.map((each) => each.element)),
      more,
    );
  });
  return {
    elements: parts,
    update() {
      for (const each of fields) each.update();
      // An error in folded options would not be seen.
      for (const part of parts) {
        const details = part.querySelector("details.more");
        if (details instanceof HTMLDetailsElement && details.querySelector(".problem:not([hidden])"))
          details.open = true;
      }
    },
  };
}

/**
 * The fields of a section: those shown first, and the others.
 *
 * @param {Form} form
 * @param {string[]} path
 * @param {Node} model
 * @param {string[]} [names]
 * @returns {[Field[], Field[]]}
 */
function split(form, path, model, names = Object.keys(model.properties)) {
  const common = /** @type {Record<string, string[]>} */ (COMMON)[path.join(".")];
  const set = names.filter((name) => form.value([...path, name]) !== undefined && !common.includes(name));
  const first = [...common.filter((name) => names.includes(name)), ...set];
  const fields = (/** @type {string[]} */ all) =>
    all.map((name) => field(form, [...path, name], model.properties[name]));
  return [fields(first), fields(names.filter((name) => !first.includes(name)))];
}

/** @param {Form} form @param {Scheme[]} schemes @returns {Field} */
function chosenSchemes(form, schemes) {
  const error = make("p", { class: "problem", role: "alert", hidden: true, id: "option-schemes-error" });
  const place = make("div", {
    class: "schemes",
    id: "option-schemes",
    role: "group",
    "aria-label": "Schemes",
    tabindex: "-1",
  });
  let drawn = "";
  const set = (/** @type {string[]} */ names) => form.change([{ path: ["schemes"], value: names }], true);
  return {
    element: make("div", { class: "option", "data-path": "schemes" }, place, error),
    update() {
      const chosen = form.chosen();
      const key = chosen.join(" ");
      showErrors(error, form.errors(["schemes"]));
      if (key === drawn) return;
      drawn = key;
      fill(
        place,
        ...schemes.map((each) => {
          const at = chosen.indexOf(each.name);
          const box = make("input", {
            type: "checkbox",
            id: `scheme-${each.name}`,
            checked: at >= 0,
            change: () => set(box.checked ? [...chosen, each.name] : chosen.filter((name) => name !== each.name)),
          });
          const first = make(
            "button",
            {
              type: "button",
              class: "link",
              id: `baseline-${each.name}`,
              click: () => set([each.name, ...chosen.filter((name) => name !== each.name)]),
            },
            "as baseline",
          );
          return make(
            "div",
            { class: at >= 0 ? "scheme chosen" : "scheme" },
            make("label", { title: each.description }, box, swatch(lookOf(each.name)), each.name),
            at === 0 ? make("span", { class: "hint" }, "baseline") : at > 0 && first,
          );
        }),
      );
    },
  };
}
