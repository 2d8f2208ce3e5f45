// The P4 source around the line of a step.

import { fill, make } from "../../core/dom.js";

const AROUND = 200;
const TOKEN =
  /(\/\/.*$|\/\*.*?\*\/)|(#\w+.*$)|(@\w+)|\b(action|actions|apply|bit|bool|const|control|default|default_action|else|entries|enum|error|exit|extern|false|header|if|in|inout|int|key|match_kind|out|package|parser|return|select|size|state|struct|switch|table|transition|true|tuple|type|typedef|varbit|void|exact|lpm|ternary|range)\b|(\b(?:0x[0-9a-fA-F_]+|\d+[ws]\d+|\d+)\b)|("[^"]*")/g;
const CLASSES = ["comment", "directive", "annotation", "keyword", "number", "string"];

export function code() {
  const title = make("h3", {});
  const body = make("div", { class: "code", tabindex: 0, role: "region", "aria-label": "P4 source" });
  const element = make("div", { class: "source" }, title, body);
  let shown = "";
  return {
    element,
    /**
     * @param {string} file
     * @param {number} line
     * @param {Record<string, string>} sources
     * @param {boolean} here false: the step is outside the P4 program, and this line is that of a step before
     */
    show(file, line, sources, here) {
      element.classList.toggle("away", !here);
      title.textContent = here ? `${file}:${line}` : `${file} – step outside the P4 program`;
      const text = sources[file];
      if (text === undefined) {
        shown = "";
        return fill(body, make("p", { class: "empty" }, "The source of this file is not here."));
      }
      const lines = text.split("\n");
      const first = Math.max(0, line - AROUND - 1);
      const key = `${file} ${lines.length > 2 * AROUND ? first : 0} ${text.length}`;
      if (key !== shown) {
        shown = key;
        const from = lines.length > 2 * AROUND ? first : 0;
        fill(body, ...lines.slice(from, from + 2 * AROUND + 1).map((each, at) => row(each, from + at + 1)));
      }
      body.querySelector(".current")?.classList.remove("current");
      const current = /** @type {HTMLElement | null} */ (body.querySelector(`[data-line="${line}"]`));
      current?.classList.toggle("current", here);
      // Only the box scrolls, not the page.
      if (current) body.scrollTop = current.offsetTop - body.clientHeight / 2 + current.offsetHeight / 2;
    },
  };
}

/** @param {string} text @param {number} number */
function row(text, number) {
  return make(
    "div",
    { class: "line", "data-line": number },
    make("span", { class: "number", "aria-hidden": "true" }, number),
    make("span", { class: "text" }, ...coloured(text)),
  );
}

/** A line with its tokens as elements. @param {string} text */
export function coloured(text) {
  /** @type {(string | Node)[]} */
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(TOKEN)) {
    if (match.index > end) parts.push(text.slice(end, match.index));
    const group = match.slice(1).findIndex((each) => each !== undefined);
    parts.push(make("span", { class: `token-${CLASSES[group]}` }, match[0]));
    end = match.index + match[0].length;
  }
  if (end < text.length) parts.push(text.slice(end));
  return parts;
}
