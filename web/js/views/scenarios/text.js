// The text of a scenario: numbered and coloured lines, errors at the end of their lines, changed lines marked.

import { fill, make } from "../../core/dom.js";
import { afterPause } from "../../core/pause.js";

/** Milliseconds without a key before the text is read. */
const PAUSE_MS = 350;

/**
 * @param {(text: string) => void} take called with the text when the user has changed it
 */
export function textEditor(take) {
  const behind = make("div", { class: "behind", "aria-hidden": "true" });
  const input = make("textarea", {
    id: "yaml",
    spellcheck: "false",
    autocomplete: "off",
    autocapitalize: "off",
    wrap: "off",
    "aria-describedby": "yaml-errors",
    "aria-label": "Scenario as YAML",
  });
  const errors = make("ul", { class: "hidden", id: "yaml-errors" });
  const element = make("div", { class: "yaml" }, behind, input, errors);
  /** @type {Map<number, string[]>} line → sentences */
  let wrong = new Map();
  /** @type {Set<string>} lines of the file that ships; null for an own text */
  let shipped = new Set();
  let marked = 0;
  let taken = "";
  const reading = afterPause(PAUSE_MS, read);

  input.addEventListener("input", () => {
    paint();
    reading.soon();
  });
  input.addEventListener("change", reading.now);
  input.addEventListener("scroll", () => (behind.scrollLeft = input.scrollLeft));
  // Tab leaves the field, as everywhere: the keyboard is not trapped. Enter keeps the indentation.
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.ctrlKey || event.metaKey) return;
    const before = input.value.slice(0, input.selectionStart);
    const indent =
      before
        .slice(before.lastIndexOf("\n") + 1)
        .match(/^\s*(- )?/)?.[0]
        .replace("-", " ") ?? "";
    if (!indent) return;
    event.preventDefault();
    input.setRangeText(`\n${indent}`, input.selectionStart, input.selectionEnd, "end");
    input.dispatchEvent(new Event("input"));
  });

  function read() {
    if (input.value === taken) return;
    taken = input.value;
    take(taken);
  }

  function paint() {
    const all = input.value.split("\n");
    input.rows = Math.max(6, all.length);
    fill(
      behind,
      ...all.map((line, at) => {
        const sentences = wrong.get(at + 1);
        const changed = shipped.size > 0 && line.trim() !== "" && !shipped.has(line);
        const kind = ["line", sentences ? "wrong" : "", changed ? "changed" : "", marked === at + 1 ? "marked" : ""]
          .filter(Boolean)
          .join(" ");
        return make(
          "div",
          { class: kind },
          ...coloured(line),
          sentences && make("span", { class: "sentence" }, sentences.join(" ").replaceAll("\n", " ")),
        );
      }),
    );
  }

  return {
    element,
    /** Whether the user has typed what was not read yet. */
    get pending() {
      return input.value !== taken;
    },
    /** @param {string} text */
    put(text) {
      taken = text;
      if (input.value !== text) input.value = text;
      paint();
    },
    /** @param {string} original text of the file that ships; empty without one */
    compareTo(original) {
      shipped = new Set(original ? original.split("\n") : []);
    },
    /** @param {{ line: number, detail: string }[]} found */
    showErrors(found) {
      wrong = new Map();
      for (const { line, detail } of found) wrong.set(line, [...(wrong.get(line) ?? []), detail]);
      fill(errors, ...found.map(({ line, detail }) => make("li", {}, `Line ${line}: ${detail}`)));
      if (found.length) input.setAttribute("aria-invalid", "true");
      else input.removeAttribute("aria-invalid");
      paint();
    },
    /** Marks the line of the option that has the focus; 0 for none. @param {number} line */
    mark(line) {
      if (marked === line) return;
      marked = line;
      paint();
      behind.children[line - 1]?.scrollIntoView({ block: "nearest" });
    },
    close: reading.cancel,
  };
}

/** A line of YAML: names of options, and comments. @param {string} line @returns {(Node | string)[]} */
function coloured(line) {
  const comment = line.match(/(^|\s)#.*$/);
  const code = comment ? line.slice(0, comment.index) : line;
  const key = code.match(/^(\s*(?:- )?)([\w.-]+)(:.*|:)?$/);
  const parts = key?.[3] ? [key[1], make("span", { class: "key" }, key[2]), key[3]] : [code];
  return comment
    ? [...parts, make("span", { class: "comment" }, line.slice(comment.index))]
    : parts.concat(line ? "" : "\u200b");
}
