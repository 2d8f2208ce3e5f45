// A program of one's own: its text with line numbers, and the errors of its compilation at their lines.

import { send } from "../../core/api.js";
import { fill, make } from "../../core/dom.js";

/** @typedef {import("../../core/api.js").Schemas} Schemas */

const NAME = "program.p4";

/** @param {() => void} changed */
export function ownProgram(changed) {
  const numbers = make("div", { class: "line-numbers", "aria-hidden": "true" });
  const area = make("textarea", {
    id: "own-source",
    class: "own-source",
    spellcheck: "false",
    wrap: "off",
    "aria-label": "Source of the program",
    "data-field": "source",
    input: () => (count(), changed()),
    scroll: () => (numbers.scrollTop = area.scrollTop),
  });
  const errors = make("ul", { class: "plain own-errors", id: "own-errors", role: "status" });
  const element = make(
    "section",
    { class: "card", "aria-label": "Own program" },
    make("h2", {}, "Own program"),
    make(
      "p",
      { class: "hint" },
      'P4_16 for v1model. It may include what ships, such as "common/wire.p4". Its name in messages is program.p4.',
    ),
    make("div", { class: "editor" }, numbers, area),
    errors,
  );
  /** Lines with errors. @type {Set<number>} */
  let wrong = new Set();
  let drawn = "";

  function count() {
    const lines = area.value.split("\n").length;
    const key = `${lines} ${[...wrong].join()}`;
    if (key === drawn) return;
    drawn = key;
    // One text between two wrong lines: a program may have many thousand lines.
    const parts = [];
    let from = 1;
    for (const line of [...[...wrong].filter((each) => each <= lines).sort((a, b) => a - b), lines + 1]) {
      parts.push(Array.from({ length: line - from }, (_, at) => `${from + at}\n`).join(""));
      if (line <= lines) parts.push(make("span", { class: "wrong" }, line), "\n");
      from = line + 1;
    }
    fill(numbers, ...parts);
  }

  /** @param {Schemas["Diagnostic"][]} found */
  function show(found) {
    wrong = new Set(found.filter((each) => each.severity === "error" && each.file === NAME).map((each) => each.line));
    count();
    area.setAttribute("aria-invalid", String(found.some((each) => each.severity === "error")));
    fill(
      errors,
      ...found.map((each) =>
        make(
          "li",
          { class: each.severity === "error" ? "bad" : "" },
          each.file === NAME && each.line > 0
            ? make("button", { type: "button", class: "link", click: () => goTo(each.line) }, `Line ${each.line}`)
            : each.file,
          `: ${each.message}${each.help ? ` ${each.help}` : ""}`,
          each.source_line && make("code", { class: "source-line" }, each.source_line.trim()),
        ),
      ),
    );
  }

  /** @param {number} line */
  function goTo(line) {
    const lines = area.value.split("\n");
    const start = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
    area.focus();
    area.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
    area.scrollTop = Math.max(0, (line - 5) * parseFloat(getComputedStyle(area).lineHeight));
  }

  return {
    element,
    /** @param {string} text */
    set(text) {
      area.value = text;
      show([]);
    },
    get: () => area.value,
    /** Compiles it, and shows its errors. @param {Record<string, string>} files @param {Record<string, string>} defines @returns {Promise<import("./types.js").CheckResult>} */
    async check(files, defines) {
      const result = /** @type {import("./types.js").CheckResult} */ (
        await send("POST", "/programs/check", { source: area.value, files, defines })
      );
      show([...result.errors, ...result.warnings]);
      return result;
    },
  };
}
