// The options of a scenario, from its JSON schema: which input each has, what it means, and its limits.

import { get } from "../../core/api.js";

/** @typedef {Record<string, any>} Node a part of a JSON schema */
/** @typedef {(string | number)[]} Path */
/**
 * An option: the shapes that its value may have, without null.
 *
 * @typedef {{ arms: Node[], nullable: boolean, default: any, meaning: string, unit: string, schemes: string[] | null, own: Record<string, any> }} Option
 */
/** @typedef {"choice" | "switch" | "number" | "text" | "checks" | "list" | "options" | "union" | "yaml"} Kind */

/** @type {Promise<Node> | null} */
let loading = null;

/** The schema of a scenario, requested once. @returns {Promise<Node>} */
export function load() {
  loading ??= get("/scenarios/schema").catch((error) => {
    loading = null;
    throw error;
  });
  return /** @type {Promise<Node>} */ (loading);
}

/**
 * @param {Node} root the whole schema
 * @param {Node} node the part of an option
 * @returns {Option}
 */
export function option(root, node) {
  const arms = (node.anyOf ?? [node]).map((/** @type {Node} */ arm) => resolved(root, arm));
  const real = arms.filter((/** @type {Node} */ arm) => arm.type !== "null");
  return {
    arms: real,
    nullable: real.length < arms.length,
    default: node.default,
    meaning: node.description ?? "",
    unit: node.unit ?? real.find((/** @type {Node} */ arm) => arm.unit)?.unit ?? "",
    schemes: node.schemes ?? null,
    own: node.own ?? {},
  };
}

/** @param {Node} root @param {Node} node @returns {Node} */
export function resolved(root, node) {
  return node.$ref ? root.$defs[node.$ref.split("/").pop()] : node;
}

/** The input of an option. @param {Option} option @returns {Kind} */
export function kindOf({ arms }) {
  const [arm] = arms;
  if (arms.length > 1) {
    if (arms.every((each) => each.type === "string")) return "text";
    return arms.some((each) => each.properties) ? "union" : "yaml";
  }
  if (arm.enum || arm.const !== undefined) return "choice";
  if (arm.type === "boolean") return "switch";
  if (arm.type === "integer" || arm.type === "number") return "number";
  if (arm.type === "string") return "text";
  if (arm.type === "array" && arm.items?.enum) return "checks";
  if (arm.type === "array" && arm.items?.type === "string") return "list";
  return arm.properties ? "options" : "yaml";
}

/** The value at a path of a document; undefined if there is none. @param {any} document @param {Path} path */
export function valueAt(document, path) {
  return path.reduce((value, part) => (value == null || typeof value !== "object" ? undefined : value[part]), document);
}

/** The shape that a value has, else the first. @param {Option} option @param {any} value */
export function armOf({ arms }, value) {
  const fits = (/** @type {Node} */ arm) => {
    if (typeof value !== "object" || value == null) return !arm.properties;
    const names = Object.keys(value);
    return (
      arm.properties &&
      names.every((name) => name in arm.properties) &&
      (arm.required ?? []).every((/** @type {string} */ name) => names.includes(name))
    );
  };
  const similar = (/** @type {Node} */ arm) =>
    arm.properties && Object.keys(value ?? {}).some((name) => name in arm.properties);
  return arms.find(fits) ?? arms.find(similar) ?? arms[0];
}

/** Values that options without a default begin with. @type {Record<string, number>} */
const BEGINNINGS = {
  outstanding: 64,
  rate: 1000,
  loss: 0.01,
  every: 5,
  last: 1,
  min: 1,
  max: 16,
  mean: 8.6,
};

/** A first value of a shape. @param {Node} root @param {Node} arm @param {string} [name] name of the option @returns {any} */
export function beginning(root, arm, name = "") {
  if (arm.default != null) return arm.default;
  if (arm.const !== undefined) return arm.const;
  if (arm.enum) return arm.enum[0];
  if (arm.properties) {
    const required = /** @type {string[]} */ (arm.required ?? []);
    return Object.fromEntries(
      required.map((each) => [each, beginning(root, option(root, arm.properties[each]).arms[0], each)]),
    );
  }
  if (arm.type === "array") return [];
  if (arm.type === "boolean") return false;
  if (arm.type === "string") return "";
  return BEGINNINGS[name] ?? arm.minimum ?? 1;
}

/** The paths of all options with plain values, for a sweep. @param {Node} root @param {string[]} chosen schemes @returns {string[]} */
export function leaves(root, chosen) {
  /** @type {string[]} */
  const found = [];
  const add = (/** @type {Node} */ model, /** @type {string} */ prefix, /** @type {number} */ depth) => {
    for (const [name, node] of Object.entries(model.properties)) {
      const about = option(root, node);
      if (about.schemes && !about.schemes.some((each) => chosen.includes(each))) continue;
      const models = about.arms.filter((arm) => arm.properties);
      if (models.length < about.arms.length && kindOf(about) !== "yaml") found.push(prefix + name);
      if (depth < 2) for (const arm of models) add(arm, `${prefix}${name}.`, depth + 1);
    }
  };
  for (const section of ["workload", "lab"]) add(option(root, root.properties[section]).arms[0], `${section}.`, 0);
  return [...new Set([...found, "duration", "warmup", "deadline", "retry"])];
}

/** `service_rate` → `Service rate`. @param {string} name */
export function title(name) {
  const text = name.replaceAll("_", " ");
  return text[0].toUpperCase() + text.slice(1);
}

/** `ClosedLoop` → `closed loop`. @param {Node} arm */
export function armTitle(arm) {
  if (!arm.properties) return "one value";
  return String(arm.title)
    .replace(/(?<=[a-z])(?=[A-Z])/g, " ")
    .toLowerCase();
}

/** A value as YAML in one line, for text fields. @param {any} value @returns {string} */
export function flow(value) {
  if (Array.isArray(value)) return `[${value.map(flow).join(", ")}]`;
  if (value && typeof value === "object")
    return `{${Object.entries(value)
      .map(([name, each]) => `${flow(name)}: ${flow(each)}`)
      .join(", ")}}`;
  return typeof value === "string" &&
    /^[A-Za-z][\w.-]*$/.test(value) &&
    !/^(true|false|null|yes|no|on|off|y|n)$/i.test(value)
    ? value
    : JSON.stringify(value);
}

/** `0.9, 0.99` → values; texts need no quotation marks. @param {string} text @returns {any[]} */
export function values(text) {
  try {
    return JSON.parse(`[${text}]`);
  } catch {
    return text
      .split(",")
      .map((each) => each.trim())
      .filter(Boolean)
      .map(plain);
  }
}

/** @param {string} text */
function plain(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
