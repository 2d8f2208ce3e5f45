// Fields of a form: one for each option, made from its part of the schema.

import { fill, make } from "../../core/dom.js";
import { afterPause } from "../../core/pause.js";
import * as schema from "./schema.js";

/** @typedef {import("./schema.js").Node} Node */
/** @typedef {import("./schema.js").Path} Path */
/** @typedef {import("./schema.js").Option} Option */
/** @typedef {{ path: Path, value?: any, remove?: boolean }} Change */
/**
 * What fields need of the editor.
 *
 * @typedef {object} Form
 * @property {Node} root the schema
 * @property {(path: Path) => any} value the value in the text; undefined if it is not there
 * @property {(path: Path, exact?: boolean) => string[]} errors sentences about an option, or about one below it
 * @property {() => string[]} chosen the schemes of the scenario
 * @property {(changes: Change[], fit?: boolean) => void} change
 * @property {(item: string) => void} assign `path=value` with a value in YAML
 */
/** @typedef {{ element: HTMLElement, update: () => void }} Field `update` shows the newest value and errors */

/** Milliseconds without a key before a typed value is taken. */
const PAUSE_MS = 300;

/** The id of the input of an option. @param {Path} path */
export function idOf(path) {
  return `option-${path.join(".")}`;
}

/**
 * The field of an option, whatever its type.
 *
 * @param {Form} form
 * @param {Path} path
 * @param {Node} node its part of the schema
 * @param {object} [more]
 * @param {string} [more.label]
 * @param {boolean} [more.bare] without its meaning, which stays in the tooltip
 * @param {string[]} [more.suggestions] for texts
 * @returns {Field}
 */
export function field(
  form,
  path,
  node,
  { label = schema.title(String(path.at(-1))), bare = false, suggestions = [] } = {},
) {
  const about = schema.option(form.root, node);
  const kind = schema.kindOf(about);
  const input = INPUTS[kind](form, path, about, suggestions);
  const id = idOf(path);
  const group = ["options", "union", "checks"].includes(kind);
  const help = make(
    "p",
    { class: "hint help", id: `${id}-help`, title: about.meaning, hidden: bare || !about.meaning },
    ...rich(about.meaning),
  );
  const error = make("p", { class: "problem", id: `${id}-error`, role: "alert", hidden: true });
  const reset = make(
    "button",
    {
      type: "button",
      class: "reset",
      title: "Back to the default",
      "aria-label": `${label}: back to the default`,
      hidden: true,
      click: () => form.change([{ path, remove: true }]),
    },
    "×",
  );
  const unit = about.unit && make("span", { class: "unit" }, ` ${about.unit}`);
  const only = make("span", { class: "only" });
  const named = group
    ? make("span", { class: "label", id: `${id}-label`, title: about.meaning }, label, unit)
    : make("label", { for: id, title: about.meaning }, label, unit);
  const swept = make("span", { class: "swept-here", hidden: true, title: "The sweep sets this option." }, "swept");
  if (group) {
    input.element.setAttribute("role", "group");
    input.element.setAttribute("aria-labelledby", `${id}-label`);
    if (!input.element.id) input.element.id = id;
    input.element.tabIndex = -1;
  }
  const element = make(
    "div",
    { class: `option kind-${kind}`, "data-path": path.join(".") },
    make("div", { class: "named" }, named, only, swept, reset),
    input.element,
    help,
    error,
  );
  return {
    element,
    update() {
      const chosen = form.chosen();
      if (about.schemes) {
        const having = chosen.filter((each) => about.schemes?.includes(each));
        element.hidden = !having.length && form.value(path) === undefined;
        fill(only, having.length && having.length < chosen.length ? `${having.join(", ")}` : "");
      }
      const set = form.value(path) !== undefined;
      swept.hidden = form.value(["sweep", path.join(".")]) === undefined;
      element.classList.toggle("set", set);
      reset.hidden =
        !set || (node.default === undefined && !about.nullable && !["checks", "list", "yaml"].includes(kind));
      input.update();
      if (group)
        element.classList.toggle(
          "broad",
          kind === "options" ? !about.nullable || set : element.querySelectorAll(".inner > .option").length > 0,
        );
      const errors = form.errors(path, group);
      showErrors(error, errors);
      const described = [!help.hidden && help.id, errors.length && error.id].filter(Boolean).join(" ");
      const target = group ? input.element : (element.querySelector(`[id=${JSON.stringify(id)}]`) ?? input.element);
      if (described) target.setAttribute("aria-describedby", described);
      else target.removeAttribute("aria-describedby");
      if (errors.length) target.setAttribute("aria-invalid", "true");
      else target.removeAttribute("aria-invalid");
    },
  };
}

/** @param {HTMLElement} place @param {string[]} errors */
export function showErrors(place, errors) {
  const text = errors.join("\n");
  if (place.textContent !== text) fill(place, text);
  place.hidden = !errors.length;
}

/** Text with `names` in backquotes. @param {string} text @returns {import("../../core/dom.js").Child[]} */
export function rich(text) {
  return text
    .trim()
    .split("`")
    .map((part, at) => (at % 2 ? make("code", {}, part) : part));
}

/** Shows a value unless the user is typing. @param {HTMLInputElement | HTMLTextAreaElement} input @param {string} text */
export function put(input, text) {
  if (document.activeElement !== input && input.value !== text) input.value = text;
}

/**
 * Calls `take` with what is typed: after a pause, at Enter, and when the focus leaves.
 *
 * @template {HTMLInputElement | HTMLTextAreaElement} Input
 * @param {Input} input
 * @param {(text: string) => void} take
 * @returns {Input}
 */
export function typed(input, take) {
  let last = /** @type {string | null} */ (null);
  const taking = afterPause(PAUSE_MS, () => {
    if (last === input.value) return;
    last = input.value;
    take(input.value);
  });
  input.addEventListener("focus", () => (last = input.value));
  input.addEventListener("input", taking.soon);
  input.addEventListener("change", taking.now);
  return input;
}

/** @typedef {(form: Form, path: Path, about: Option, suggestions: string[]) => Field} Maker */

/** What a left-out option means. @param {Form} form @param {Path} path @param {Option} about @returns {any} */
function defaultOf(form, path, about) {
  const own = form
    .chosen()
    .filter((each) => each in about.own)
    .map((each) => about.own[each]);
  if (own.length && new Set(own.map(String)).size === 1) return own[0];
  if (about.default !== undefined) return about.default;
  // An option of a section whose default is written at the section.
  const parent = path.slice(0, -1);
  const node = parent.reduce(
    (/** @type {Node | undefined} */ at, part) =>
      at && schema.option(form.root, at).arms.find((arm) => arm.properties?.[part])?.properties[part],
    /** @type {Node} */ (form.root),
  );
  return node?.default?.[/** @type {string} */ (path.at(-1))];
}

/** @param {any} value */
function shownDefault(value) {
  return value == null ? "left out" : typeof value === "object" ? schema.flow(value) : String(value);
}

/** @type {Record<import("./schema.js").Kind, Maker>} */
const INPUTS = {
  choice(form, path, about) {
    const [arm] = about.arms;
    const all = /** @type {any[]} */ (arm.enum ?? [arm.const]);
    const usual = defaultOf(form, path, about);
    const none = about.nullable || usual === undefined;
    const input = make(
      "select",
      {
        id: idOf(path),
        change: () =>
          form.change([input.value === "" ? { path, remove: true } : { path, value: all[Number(input.value)] }]),
      },
      none && make("option", { value: "" }, about.nullable ? "left out" : "choose …"),
      ...all.map((each, at) => make("option", { value: at }, each === usual ? `${each} (default)` : String(each))),
    );
    return {
      element: input,
      update() {
        const at = all.indexOf(form.value(path) ?? usual);
        input.value = at < 0 ? "" : String(at);
      },
    };
  },

  switch(form, path, about) {
    const usual = Boolean(defaultOf(form, path, about));
    const input = make("input", {
      type: "checkbox",
      id: idOf(path),
      change: () => form.change([input.checked === usual ? { path, remove: true } : { path, value: input.checked }]),
    });
    return {
      element: make(
        "span",
        { class: "switch" },
        input,
        make("span", { class: "hint" }, `default: ${usual ? "on" : "off"}`),
      ),
      update: () => (input.checked = Boolean(form.value(path) ?? usual)),
    };
  },

  number(form, path, about) {
    const [arm] = about.arms;
    const above = arm.minimum ?? arm.exclusiveMinimum;
    const input = typed(
      make("input", {
        type: "number",
        id: idOf(path),
        min: above,
        max: arm.maximum,
        step: arm.type === "integer" ? 1 : "any",
        inputmode: arm.type === "integer" ? "numeric" : "decimal",
        placeholder: shownDefault(defaultOf(form, path, about)),
      }),
      (text) => {
        // The browser gives an empty text for what is no number.
        if (input.validity.badInput) return;
        form.change([text.trim() === "" ? { path, remove: true } : { path, value: Number(text) }]);
      },
    );
    const limits = make("span", { class: "hint limits" }, range(arm));
    return {
      element: make("span", { class: "number" }, input, limits),
      update: () => {
        input.placeholder = shownDefault(defaultOf(form, path, about));
        put(input, form.value(path) == null ? "" : String(form.value(path)));
      },
    };
  },

  text(form, path, about, suggestions) {
    const known = [...suggestions, ...about.arms.flatMap((arm) => arm.enum ?? [])];
    const list = known.length
      ? make("datalist", { id: `${idOf(path)}-known` }, ...known.map((value) => make("option", { value })))
      : null;
    const input = typed(
      make("input", {
        id: idOf(path),
        list: list?.id,
        spellcheck: "false",
        autocomplete: "off",
        placeholder: String(defaultOf(form, path, about) ?? ""),
      }),
      (text) =>
        form.change([text === "" && about.default !== undefined ? { path, remove: true } : { path, value: text }]),
    );
    return {
      element: make("span", { class: "texts" }, input, list),
      update: () => put(input, form.value(path) == null ? "" : String(form.value(path))),
    };
  },

  checks(form, path, about) {
    const all = /** @type {string[]} */ (about.arms[0].items.enum);
    const boxes = all.map((each) => make("input", { type: "checkbox", value: each, change: take }));
    function take() {
      const chosen = boxes.filter((box) => box.checked).map((box) => box.value);
      form.change([chosen.length ? { path, value: chosen } : { path, remove: true }]);
    }
    return {
      element: make(
        "div",
        { class: "checks", id: idOf(path) },
        ...boxes.map((box) => make("label", {}, box, box.value)),
      ),
      update() {
        const chosen = form.value(path) ?? [];
        for (const box of boxes) box.checked = Array.isArray(chosen) && chosen.includes(box.value);
      },
    };
  },

  list(form, path) {
    const input = typed(make("input", { id: idOf(path), placeholder: "none", spellcheck: "false" }), (text) => {
      const found = text
        .split(",")
        .map((each) => each.trim())
        .filter(Boolean);
      form.change([found.length ? { path, value: found } : { path, remove: true }]);
    });
    return {
      element: input,
      update() {
        const value = form.value(path);
        put(input, Array.isArray(value) ? value.join(", ") : value == null ? "" : schema.flow(value));
      },
    };
  },

  options(form, path, about) {
    const place = make("div", { class: "inner" });
    const [arm] = about.arms;
    /** @type {Field[]} */
    let inner = [];
    const on = about.nullable
      ? make("input", {
          type: "checkbox",
          id: idOf(path),
          "aria-label": schema.title(String(path.at(-1))),
          change: () =>
            form.change([on?.checked ? { path, value: schema.beginning(form.root, arm) } : { path, remove: true }]),
        })
      : null;
    const element = make("div", { class: "options" }, on, place);
    if (on) element.id = `${idOf(path)}-group`;
    return {
      element,
      update() {
        const there = !about.nullable || form.value(path) != null;
        if (on) on.checked = there;
        if (there && !inner.length) {
          inner = inside(form, path, arm);
          fill(place, ...inner.map((each) => each.element));
        }
        place.hidden = !there;
        if (there) for (const each of inner) each.update();
      },
    };
  },

  union(form, path, about) {
    const name = String(path.at(-1));
    const input = make(
      "select",
      { id: idOf(path), "aria-label": `${schema.title(name)}: kind`, change: choose },
      about.nullable && make("option", { value: "" }, "left out"),
      ...about.arms.map((arm, at) => make("option", { value: at }, schema.armTitle(arm))),
    );
    const place = make("div", { class: "inner" });
    const element = make("div", { class: "options", id: `${idOf(path)}-group` }, input, place);
    /** @type {Field[]} */
    let inner = [];
    let shown = /** @type {Node | null | undefined} */ (undefined);
    function choose() {
      const arm = about.arms[Number(input.value)];
      form.change([
        input.value === "" ? { path, remove: true } : { path, value: schema.beginning(form.root, arm, name) },
      ]);
    }
    return {
      element,
      update() {
        const value = form.value(path) ?? (about.nullable ? null : about.default);
        const arm = value == null ? null : schema.armOf(about, value);
        if (arm !== shown) {
          shown = arm;
          input.value = arm ? String(about.arms.indexOf(arm)) : "";
          inner = !arm ? [] : arm.properties ? inside(form, path, arm) : [scalar(form, path, about, arm)];
          fill(
            place,
            arm?.properties && make("p", { class: "hint" }, firstSentence(arm.description ?? "")),
            ...inner.map((each) => each.element),
          );
        }
        for (const each of inner) each.update();
      },
    };
  },

  yaml(form, path) {
    const input = typed(
      make("textarea", { id: idOf(path), rows: 1, spellcheck: "false", placeholder: "YAML, in one line" }),
      (text) => {
        if (text.trim() === "") form.change([{ path, remove: true }]);
        else form.assign(`${path.join(".")}=${text.replaceAll("\n", " ")}`);
      },
    );
    return {
      element: input,
      update: () => put(input, form.value(path) === undefined ? "" : schema.flow(form.value(path))),
    };
  },
};

/** The fields of a model. @param {Form} form @param {Path} path @param {Node} model */
export function inside(form, path, model) {
  return Object.entries(model.properties).map(([name, node]) => field(form, [...path, name], node));
}

/** The plain value of a union. @param {Form} form @param {Path} path @param {Option} about @param {Node} arm @returns {Field} */
function scalar(form, path, about, arm) {
  const inner = INPUTS[schema.kindOf({ ...about, arms: [arm] })](form, path, { ...about, arms: [arm] }, []);
  const input = inner.element.querySelector("input, select, textarea") ?? inner.element;
  input.id = `${idOf(path)}-value`;
  input.setAttribute("aria-label", `${schema.title(String(path.at(-1)))}: value`);
  return inner;
}

/** `1 to 128`, `above 0`. @param {Node} arm */
function range({ minimum, exclusiveMinimum, maximum, exclusiveMaximum, type }) {
  const show = (/** @type {number} */ value) => value.toLocaleString("en");
  const most =
    maximum ??
    (exclusiveMaximum === undefined || exclusiveMaximum > Number.MAX_SAFE_INTEGER ? undefined : exclusiveMaximum);
  const least =
    minimum !== undefined
      ? show(minimum)
      : exclusiveMinimum !== undefined
        ? type === "integer"
          ? show(exclusiveMinimum + 1)
          : `above ${show(exclusiveMinimum)}`
        : "";
  if (!least && most === undefined) return "";
  if (most === undefined) return least.startsWith("above") ? least : `${least} or more`;
  if (least.startsWith("above")) return exclusiveMinimum ? `${least}, up to ${show(most)}` : `up to ${show(most)}`;
  return least ? `${least} to ${show(most)}` : `up to ${show(most)}`;
}

/** @param {string} text */
function firstSentence(text) {
  return text.split("\n\n")[0];
}
