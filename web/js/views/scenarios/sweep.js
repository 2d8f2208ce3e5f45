// The sweep of a scenario: options and the values at which every scheme runs.

import { fill, make } from "../../core/dom.js";
import { idOf, put, showErrors, typed } from "./fields.js";
import * as schema from "./schema.js";

/** @typedef {import("./fields.js").Form} Form */

/** @param {Form} form @returns {import("./fields.js").Field} */
export function sweep(form) {
  const rows = make("div", { class: "rows", id: "option-sweep", tabindex: "-1" });
  const error = make("p", { class: "problem", role: "alert", hidden: true });
  const known = make("datalist", { id: "sweep-known" });
  const added = make("input", {
    id: "sweep-path",
    list: "sweep-known",
    placeholder: "workload.zipf",
    spellcheck: "false",
    autocomplete: "off",
    keydown: (/** @type {KeyboardEvent} */ event) => event.key === "Enter" && (event.preventDefault(), add()),
  });
  const element = make(
    "div",
    { class: "option", "data-path": "sweep" },
    rows,
    make(
      "div",
      { class: "adding" },
      make("label", { for: added.id }, "Option"),
      added,
      known,
      make("button", { type: "button", id: "sweep-add", click: add }, "Sweep it"),
    ),
    error,
  );
  let drawn = /** @type {string | null} */ (null);
  /** @type {(() => void)[]} */
  let updates = [];

  const paths = () => Object.keys(form.value(["sweep"]) ?? {});

  function add() {
    const path = added.value.trim();
    if (!path || paths().includes(path)) return added.focus();
    const value = form.value(path.split(".")) ?? usual(form, path);
    added.value = "";
    form.change([{ path: ["sweep", path], value: [value ?? 1] }], true);
    waiting = path;
  }
  /** The row that gets the focus when it appears. */
  let waiting = "";

  /** @param {string} path */
  function row(path) {
    const own = ["sweep", path];
    const input = typed(
      make("input", { id: idOf(own), spellcheck: "false", "aria-label": `Values of ${path}` }),
      (text) => {
        const found = schema.values(text);
        if (found.length) form.change([{ path: own, value: found }], true);
      },
    );
    const wrong = make("p", { class: "problem", role: "alert", hidden: true });
    const count = make("span", { class: "hint" });
    const remove = make(
      "button",
      {
        type: "button",
        class: "quiet",
        "aria-label": `Do not sweep ${path}`,
        click: () => (form.change([{ path: own, remove: true }], true), added.focus()),
      },
      "Remove",
    );
    updates.push(() => {
      const values = form.value(own);
      put(input, Array.isArray(values) ? values.map(schema.flow).join(", ") : String(values ?? ""));
      fill(count, Array.isArray(values) ? `${values.length} ${values.length === 1 ? "value" : "values"}` : "");
      showErrors(wrong, form.errors(own));
    });
    return make(
      "div",
      { class: "swept", "data-path": own.join(".") },
      make("label", { for: input.id }, make("code", {}, path)),
      input,
      count,
      remove,
      wrong,
    );
  }

  return {
    element,
    update() {
      const key = JSON.stringify(paths());
      if (key !== drawn) {
        drawn = key;
        updates = [];
        fill(
          rows,
          ...paths().map(row),
          !paths().length && make("p", { class: "empty" }, "Nothing is swept: every scheme runs once for each repeat."),
        );
      }
      const leaves = schema.leaves(form.root, form.chosen());
      if (known.childElementCount !== leaves.length) fill(known, ...leaves.map((value) => make("option", { value })));
      for (const each of updates) each();
      const appeared = waiting && document.getElementById(idOf(["sweep", waiting]));
      if (appeared) {
        appeared.focus();
        waiting = "";
      }
      showErrors(error, form.errors(["sweep"], true));
    },
  };
}

/** The default of an option that is not in the text. @param {Form} form @param {string} path */
function usual(form, path) {
  let node = /** @type {schema.Node | undefined} */ (form.root);
  for (const part of path.split("."))
    node = node && schema.option(form.root, node).arms.find((arm) => arm.properties?.[part])?.properties[part];
  return (
    node &&
    (node.default ?? schema.beginning(form.root, schema.option(form.root, node).arms[0], path.split(".").at(-1)))
  );
}
