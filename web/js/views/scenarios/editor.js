// One scenario: a form and the text beside it, the plan of its runs, and the button that starts them.
//
// The text is what counts. A field sends its change to the server, which changes the text and keeps the comments; what
// is typed into the text is read by the server, and the fields follow. So both always show the same.

import { ApiError, get, send } from "../../core/api.js";
import { quoted } from "../../core/command.js";
import { fill, make } from "../../core/dom.js";
import { packed } from "../../core/packed.js";
import * as router from "../../core/router.js";
import { run } from "../../core/scenarios.js";
import { copy } from "../../parts/copy.js";
import { save } from "../../parts/files.js";
import { taken, unpacked } from "./address.js";
import { sections } from "./form.js";
import { planned, problems, summary } from "./plan.js";
import * as schema from "./schema.js";
import { textEditor } from "./text.js";
import { opener } from "./upload.js";
import { sentenceOf } from "../../parts/problem.js";

/** @typedef {import("../../core/api.js").Schemas} Schemas */
/** @typedef {import("./fields.js").Change} Change */
/** @typedef {import("./plan.js").Wrong} Wrong */

/** The text of a new scenario. @param {Schemas["SchemeSummary"][]} schemes */
const begun = (schemes) => `# A scenario of your own: schemes that are compared, a lab, a load.
name: mine
title: My comparison

schemes: [${[schemes[0], schemes.find((each) => each.kind === "switch-cache")].map((each) => each?.name).join(", ")}]

lab:
  servers: 4
  service_rate: 500

workload:
  keys: 10000
  arrivals: {outstanding: 8}

warmup: 2
duration: 10
`;
/** The name of the view of an own scenario. */
const OWN = "new";

/** @param {HTMLElement} place @param {string} name of the scenario that ships, or `new` */
export function editor(place, name) {
  const shipped = name === OWN ? null : name;
  let original = "";
  let text = "";
  /** @type {any} */
  let document_ = {};
  /** @type {Record<string, number>} */
  let lines = {};
  /** @type {string[] | null} */
  let set = null;
  let exact = false;
  /** @type {Wrong[]} */
  let wrong = [];
  /** The address that this view has written. */
  let written = "\n";
  /** @type {Schemas["ScenarioCheck"] | null} */
  let check = null;
  let closed = false;
  let turn = 0;
  /** Edits, one after the other: each changes the text that the one before has made. */
  let edits = Promise.resolve();
  /** @type {ReturnType<typeof sections> | null} */
  let form = null;

  const upload = opener(place);
  const title = make("h1", {}, name);
  const about = make("p", { class: "about" });
  const left = make("div", { class: "stack form", id: "form" });
  const editing = textEditor((typed) => edit({ yaml: typed }, true));
  const start = make("button", { type: "button", class: "primary", id: "run", disabled: true, click: begin }, "Run");
  const facts = make("p", { class: "strong", id: "facts", role: "status" });
  const note = make("p", { class: "hint", role: "status", id: "note" });
  const warnings = make("ul", { class: "plain warnings", id: "warnings", "aria-label": "Warnings" });
  const errors = make("div", { class: "problem", id: "errors", role: "alert", hidden: true });
  const matrix = make("div", { id: "plan" });
  const undo = make(
    "button",
    { type: "button", id: "undo", hidden: true, click: () => edit({ yaml: original }) },
    "Undo all changes",
  );
  const command = make(
    "button",
    { type: "button", class: "link", id: "copy-command", click: copyCommand },
    "Copy as command line",
  );

  fill(
    place,
    make(
      "div",
      { class: "head scenarios-head" },
      make(
        "div",
        {},
        make(
          "p",
          { class: "hint" },
          make("a", { href: router.link(["scenarios"]) }, "Scenarios"),
          ` / ${shipped ?? "new"}`,
        ),
        title,
        about,
      ),
      make("p", { class: "buttons" }, undo, upload.button),
    ),
    upload.zone,
    make(
      "div",
      { class: "editor" },
      left,
      make(
        "div",
        { class: "stack beside" },
        make(
          "section",
          { class: "card", id: "before", "aria-labelledby": "before-title" },
          make("div", { class: "head" }, make("h2", { id: "before-title" }, "Plan"), start),
          facts,
          errors,
          warnings,
          matrix,
        ),
        make(
          "section",
          { class: "card", "aria-labelledby": "yaml-title" },
          make(
            "div",
            { class: "head" },
            make("h2", { id: "yaml-title" }, "Scenario file"),
            make(
              "p",
              { class: "files" },
              make("button", { type: "button", class: "link", id: "copy-link", click: copyLink }, "Copy link"),
              command,
              make("button", { type: "button", class: "link", id: "download", click: download }, "Download YAML"),
            ),
          ),
          note,
          editing.element,
        ),
      ),
    ),
  );
  left.addEventListener("focusin", (event) => {
    const option = /** @type {HTMLElement} */ (event.target).closest("[data-path]");
    editing.mark(lineOf(option?.getAttribute("data-path") ?? ""));
  });
  left.addEventListener("focusout", () => editing.mark(0));

  /**
   * Changes the text.
   *
   * @param {Partial<Schemas["EditRequest"]>} request
   * @param {boolean} [quiet] the text comes from the text field, and stays there as it is
   */
  function edit(request, quiet = false) {
    edits = edits.then(async () => {
      if (closed) return;
      try {
        adopt(
          /** @type {Schemas["EditedScenario"]} */ (
            await send("POST", "/scenarios/edit", { scenario: shipped, yaml: text || null, ...request })
          ),
        );
      } catch (error) {
        if (quiet && typeof request.yaml === "string") text = request.yaml;
        failed(error);
        remember();
      }
    });
    return edits;
  }

  /** @param {Schemas["EditedScenario"]} edited */
  function adopt(edited) {
    if (closed) return;
    ({ yaml: text, lines, set, exact } = edited);
    document_ = edited.document;
    if (!editing.pending) editing.put(text);
    undo.hidden = !shipped || text === original;
    fill(title, String(document_.title || document_.name || name));
    fill(about, String(document_.description ?? ""));
    about.hidden = !about.textContent?.trim();
    form?.update();
    remember();
    examine();
  }

  /** Asks the server whether this can run, how long it takes, and what it warns of. */
  async function examine() {
    const mine = ++turn;
    try {
      const found = await send("POST", "/scenarios/check", { yaml: text });
      if (mine !== turn || closed) return;
      check = found;
      wrong = [];
      show("");
    } catch (error) {
      if (mine === turn) failed(error);
    }
  }

  /** @param {unknown} error */
  function failed(error) {
    turn++;
    check = null;
    wrong =
      error instanceof ApiError
        ? error.fields.map((each) => ({
            field: each.field.replace(/^(yaml|changes)\b.*/, ""),
            detail: each.detail,
            line: Number(each.where.match(/:(\d+)$/)?.[1] ?? 0) || lineOf(each.field),
          }))
        : [];
    show(sentenceOf(error));
  }

  /** @param {string} detail of an error without a field */
  function show(detail) {
    start.disabled = !check;
    fill(facts, check ? summary(check) : "");
    problems(errors, wrong, detail, go);
    fill(warnings, ...(check?.warnings ?? []).map((each) => make("li", {}, each)));
    fill(matrix, check && planned(check));
    editing.showErrors(wrong.filter((each) => each.line));
    form?.update();
  }

  /** The line of an option, or of the nearest section that is in the text. @param {string} path */
  function lineOf(path) {
    for (let at = path; at; at = at.slice(0, Math.max(0, at.lastIndexOf(".")))) if (lines[at]) return lines[at];
    return 0;
  }

  /** Shows the field of an error; without one, its line. @param {Wrong} each */
  function go(each) {
    for (let path = each.field; path; path = path.slice(0, Math.max(0, path.lastIndexOf(".")))) {
      const found = document.getElementById(`option-${path}`);
      if (!found) continue;
      for (let at = found.parentElement; at; at = at.parentElement)
        if (at instanceof HTMLDetailsElement) at.open = true;
      found.scrollIntoView({ block: "center" });
      return found.focus();
    }
    const input = /** @type {HTMLTextAreaElement} */ (document.getElementById("yaml"));
    const begin =
      text
        .split("\n")
        .slice(0, each.line - 1)
        .join("\n").length + 1;
    input.focus();
    input.setSelectionRange(begin, begin);
    editing.mark(each.line);
  }

  async function remember() {
    const mine = text;
    const query = exact && set ? { set } : { yaml: mine === original ? null : await packed(mine) };
    if (closed || mine !== text) return;
    const long = "yaml" in query && query.yaml == null && mine !== original;
    fill(note, long ? "The file is too long for a link: download it to keep it." : "");
    router.remember(query);
    written = router.current().query.toString();
    command.hidden = !shipped || set == null;
  }

  async function begin() {
    start.disabled = true;
    try {
      await edits;
      await run(shipped && exact ? { scenario: shipped, set } : { yaml: text });
    } catch (error) {
      failed(error);
    }
  }

  function copyLink() {
    return copy(note, location.href, "Link copied.");
  }

  function copyCommand() {
    const changed = (set ?? []).map((item) => `--set ${quoted(item)}`);
    return copy(note, ["netkv scenario run", shipped, ...changed].join(" "), "Command copied.");
  }

  function download() {
    save(`${document_.name || name}.yaml`, "application/yaml", text);
  }

  /** @param {URLSearchParams} query */
  async function load(query) {
    written = query.toString();
    if (!form) fill(facts, "Loading …");
    try {
      const short = query.get("yaml");
      const [root, all, given, found] = await Promise.all([
        schema.load(),
        get("/schemes"),
        short ? unpacked(short) : shipped ? null : taken(),
        shipped ? get(`/scenarios/${encodeURIComponent(shipped)}`) : null,
      ]);
      if (closed) return;
      const own = given ?? (shipped ? null : begun(all.schemes));
      original = found?.yaml ?? "";
      editing.compareTo(original);
      await edit({ yaml: own ?? original, set: own ? [] : query.getAll("set") });
      if (closed) return;
      if (own && !text) editing.put((text = own));
      form = sections(
        { root, value: (path) => schema.valueAt(document_, path), errors: errorsAt, chosen, change, assign },
        all.schemes,
      );
      fill(left, ...form.elements);
      form.update();
    } catch (error) {
      if (closed) return;
      fill(facts);
      problems(errors, [], sentenceOf(error), go);
      fill(title, name);
    }
  }

  /** @param {schema.Path} path @param {boolean} [only] not those of options below it */
  function errorsAt(path, only = false) {
    const own = path.join(".");
    return wrong
      .filter(({ field }) => field === own || (!only && field.startsWith(`${own}.`)))
      .map(({ detail }) => detail);
  }

  /** @returns {string[]} */
  function chosen() {
    return Array.isArray(document_.schemes)
      ? document_.schemes.filter((/** @type {unknown} */ each) => typeof each === "string")
      : [];
  }

  /** The title of a plot that shows another quantity from now on is removed. @param {(string | number)[]} path @returns {Change[]} */
  function untitled([list, at, name]) {
    const title = ["plots", at, "title"];
    return list === "plots" && (name === "y" || name === "x") && schema.valueAt(document_, title)
      ? [{ path: title, remove: true }]
      : [];
  }

  /** @param {Change[]} changes @param {boolean} [fit] */
  function change(changes, fit = false) {
    const all = [...changes, ...changes.flatMap(({ path }) => untitled(path))];
    edit({ changes: all.map((each) => ({ value: null, remove: false, ...each })), fit });
  }

  /** @param {string} item */
  function assign(item) {
    edit({ set: [item] });
  }

  return {
    show(/** @type {URLSearchParams} */ query) {
      if (query.toString() !== written) load(query);
    },
    close() {
      closed = true;
      upload.close();
      editing.close();
    },
  };
}
