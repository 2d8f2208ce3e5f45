// What a scenario expects of its runs, and the figures it draws of them.

import { fill, make } from "../../core/dom.js";
import { field, idOf, put, showErrors, typed } from "./fields.js";
import * as schema from "./schema.js";

/** @typedef {import("./fields.js").Form} Form */
/** @typedef {import("./fields.js").Field} Field */

/** @param {Form} form @returns {Field} */
export function expectations(form) {
  return rows(
    form,
    "expect",
    "Add an expectation",
    () => `${form.chosen()[0].replaceAll("-", "_")}.lost_ops == 0`,
    (path, at) => {
      const input = typed(
        make("input", {
          id: idOf(path),
          spellcheck: "false",
          autocomplete: "off",
          "aria-label": `Expectation ${at + 1}`,
          class: "code",
        }),
        (text) => form.change([{ path, value: text }]),
      );
      const wrong = make("p", { class: "problem", role: "alert", hidden: true });
      return {
        element: make("div", { class: "wide-row" }, input, wrong),
        update() {
          put(input, String(form.value(path) ?? ""));
          showErrors(wrong, form.errors(path));
        },
      };
    },
  );
}

/** @param {Form} form @returns {Field} */
export function plots(form) {
  const model = schema.resolved(form.root, form.root.properties.plots.items);
  return rows(
    form,
    "plots",
    "Add a plot",
    () => ({ y: "throughput_ops", x: Object.keys(form.value(["sweep"]) ?? {})[0] ?? "scheme", title: "Throughput" }),
    (path) => {
      const first = ["y", "x", "kind", "title"];
      const make_ = (/** @type {string} */ name) =>
        field(form, [...path, name], model.properties[name], {
          bare: true,
          suggestions: name === "x" ? ["scheme", "time", ...Object.keys(form.value(["sweep"]) ?? {})] : [],
        });
      const main = first.map(make_);
      const others = Object.keys(model.properties)
        .filter((name) => !first.includes(name))
        .map(make_);
      const all = [...main, ...others];
      return {
        element: make(
          "div",
          { class: "wide-row" },
          make("div", { class: "grid four" }, ...main.map((each) => each.element)),
          make(
            "details",
            {},
            make("summary", {}, "More"),
            make("div", { class: "grid" }, ...others.map((each) => each.element)),
          ),
        ),
        update: () => all.forEach((each) => each.update()),
      };
    },
  );
}

/**
 * A list of which rows are added and removed.
 *
 * @param {Form} form
 * @param {string} name the option
 * @param {string} adding text of the button
 * @param {() => any} beginning value of a new row
 * @param {(path: (string | number)[], at: number) => Field} row
 * @returns {Field}
 */
function rows(form, name, adding, beginning, row) {
  const place = make("ol", { class: "rows plain", id: `option-${name}`, tabindex: "-1" });
  const error = make("p", { class: "problem", role: "alert", hidden: true });
  const add = make(
    "button",
    { type: "button", id: `add-${name}`, click: () => form.change([{ path: [name, count()], value: beginning() }]) },
    adding,
  );
  /** @type {Field[]} */
  let inner = [];
  let drawn = -1;
  const count = () => (Array.isArray(form.value([name])) ? form.value([name]).length : 0);
  return {
    element: make("div", { class: "option", "data-path": name }, place, add, error),
    update() {
      if (count() !== drawn) {
        drawn = count();
        inner = Array.from({ length: drawn }, (_, at) => row([name, at], at));
        const remove = (/** @type {number} */ at) =>
          make(
            "button",
            {
              type: "button",
              class: "quiet",
              "aria-label": `Remove ${name} ${at + 1}`,
              click: () => (form.change([{ path: [name, at], remove: true }]), add.focus()),
            },
            "Remove",
          );
        fill(
          place,
          ...inner.map((each, at) =>
            make("li", { class: "row", "data-path": `${name}.${at}` }, each.element, remove(at)),
          ),
        );
      }
      for (const each of inner) each.update();
      showErrors(error, form.errors([name], true));
    },
  };
}
