// The form that brings a lab up. Its options are those of `netkv up`.

import { get, send, ApiError } from "../../core/api.js";
import { fill, make } from "../../core/dom.js";
import { sentenceOf } from "../../parts/problem.js";

/** @typedef {import("../../core/api.js").Schemas} Schemas */
/** @typedef {{ default?: unknown, description?: string, unit?: string, type?: string, anyOf?: { type?: string, unit?: string }[] }} Option */

/** Options of every lab that are offered first. */
const COMMON = ["servers", "server_processes", "service_rate", "external_clients"];

/** @param {(name: string) => void} begun */
export function create(begun) {
  const scheme = make("select", { id: "new-scheme", name: "scheme" });
  const options = make("div", { class: "options", id: "new-options" });
  const problem = make("div", { id: "new-problem", "aria-live": "assertive" });
  const bring = make("button", { class: "primary", id: "bring-up" }, "Bring it up");
  const name = make("input", {
    id: "new-name",
    name: "name",
    required: true,
    maxlength: 40,
    pattern: "[a-z0-9][a-z0-9\\-]{0,39}",
    value: "lab",
    title: "Small letters, digits and dashes",
    autocomplete: "off",
  });
  const topology = choice("topology", ["", "rack", "racks", "spine-leaf"], "default");
  const fabric = choice("fabric", ["", "udp", "veth"], "default: udp");
  const further = make("textarea", {
    id: "new-set",
    name: "set",
    rows: 2,
    placeholder: "workload.keys=10000",
    spellcheck: "false",
  });
  const form = make(
    "form",
    {
      id: "new-lab",
      class: "card",
      submit: (/** @type {Event} */ event) => {
        event.preventDefault();
        submit();
      },
    },
    make("h2", {}, "Bring a lab up"),
    make(
      "div",
      { class: "fields" },
      field("name", "Name", name),
      field("scheme", "Scheme", scheme),
      field("topology", "Topology", topology),
      field("fabric", "Fabric", fabric),
    ),
    make(
      "details",
      { id: "more-options" },
      make("summary", {}, "Options of the lab and of its scheme"),
      options,
      field("set", "Further options, path=value in each line", further),
    ),
    problem,
    make("p", { class: "buttons" }, bring),
  );

  /** @type {Promise<Record<string, Option>> | null} */
  let common = null;
  let turn = 0;

  async function start() {
    try {
      const { schemes } = /** @type {Schemas["Schemes"]} */ (await get("/schemes"));
      fill(scheme, ...schemes.map((each) => make("option", { value: each.name }, each.title)));
      scheme.value = schemes.find((each) => each.kind === "switch-cache")?.name ?? schemes[0]?.name ?? "";
      scheme.addEventListener("change", () => showOptions().catch((error) => failed(error, [])));
      await showOptions();
    } catch (error) {
      failed(error, []);
    }
  }

  /** Fields of the options of the chosen scheme. */
  async function showOptions() {
    const mine = ++turn;
    common ??= get("/scenarios/schema")
      .then((schema) => schema.$defs.LabSpec.properties)
      .catch((error) => {
        // The next choice asks again.
        common = null;
        throw error;
      });
    const [labs, details] = await Promise.all([common, get(`/schemes/${encodeURIComponent(scheme.value)}`)]);
    if (mine !== turn) return;
    const own = /** @type {Record<string, Option>} */ (details.options_schema.properties ?? {});
    const all = {
      ...Object.fromEntries(COMMON.filter((each) => labs[each]).map((each) => [each, labs[each]])),
      ...own,
    };
    fill(options, ...Object.entries(all).map(([each, about]) => option(each, about)));
    topology.options[0].text = `default: ${details.topology.kind}`;
  }

  /** What was set, as `path=value`, with the id of its field. @returns {[string, string][]} */
  function values() {
    const set = [...options.querySelectorAll("input")]
      .filter((input) => input.value.trim() !== "")
      .map((input) => /** @type {[string, string]} */ ([`${input.name}=${input.value.trim()}`, input.id]));
    const lines = further.value
      .split("\n")
      .map((line) => line.trim())
      .filter(Boolean);
    return [...set, ...lines.map((line) => /** @type {[string, string]} */ ([line, "new-set"]))];
  }

  async function submit() {
    clear();
    bring.disabled = true;
    const set = values();
    try {
      const lab = /** @type {Schemas["Lab"]} */ (
        await send("POST", "/labs", {
          name: name.value,
          scheme: scheme.value,
          ...(topology.value ? { topology: topology.value } : {}),
          ...(fabric.value ? { fabric: fabric.value } : {}),
          set: set.map(([text]) => text),
        })
      );
      begun(lab.name);
    } catch (error) {
      failed(error, set);
    } finally {
      bring.disabled = false;
    }
  }

  function clear() {
    fill(problem);
    for (const note of form.querySelectorAll(".wrong")) note.remove();
    for (const each of form.querySelectorAll("[aria-invalid]")) each.removeAttribute("aria-invalid");
  }

  /** Shows each error at its field; those without one below the form. @param {unknown} error @param {[string, string][]} set */
  function failed(error, set) {
    const fields = error instanceof ApiError ? error.fields : [];
    let first = /** @type {HTMLElement | null} */ (null);
    for (const each of fields) {
      const number = each.field.match(/^set\.(\d+)/)?.[1];
      const input = document.getElementById(
        number !== undefined ? (set[Number(number)]?.[1] ?? "new-set") : `new-${each.field}`,
      );
      if (!input) continue;
      input.setAttribute("aria-invalid", "true");
      input.closest("details")?.setAttribute("open", "");
      const id = `${input.id}-wrong`;
      input.setAttribute("aria-describedby", id);
      input.closest(".field")?.append(make("p", { class: "wrong", id }, each.detail));
      first ??= input;
    }
    if (first) first.focus();
    else fill(problem, make("p", { class: "problem", role: "alert" }, sentenceOf(error)));
  }

  start();
  return { element: form };
}

/** @param {string} id @param {string} label @param {HTMLElement} input */
function field(id, label, input) {
  return make("div", { class: "field" }, make("label", { for: `new-${id}` }, label), input);
}

/** @param {string} name @param {Option} about */
function option(name, about) {
  const value = about.default == null ? "" : String(about.default);
  const unit = about.unit ?? about.anyOf?.find((each) => each.unit)?.unit;
  const input = make("input", {
    id: `new-lab.${name}`,
    name: `lab.${name}`,
    placeholder: value,
    autocomplete: "off",
    spellcheck: "false",
  });
  return make(
    "div",
    { class: "field", title: about.description },
    make("label", { for: input.id }, name.replaceAll("_", " "), unit && make("span", { class: "unit" }, ` ${unit}`)),
    input,
  );
}

/** @param {string} name @param {string[]} values @param {string} first text of the first one */
function choice(name, values, first) {
  return make(
    "select",
    { id: `new-${name}`, name },
    ...values.map((value) => make("option", { value }, value || first)),
  );
}
