// The log of a node: its end, which is followed, and what was before.

import { get } from "../../core/api.js";
import { fill, make } from "../../core/dom.js";
import { sentenceOf } from "../../parts/problem.js";

/** @typedef {import("../../core/api.js").Schemas} Schemas */

const LINES = 200;

/**
 * @param {string} lab
 * @param {string} node
 */
export function log(lab, node) {
  const path = `/labs/${encodeURIComponent(lab)}/nodes/${encodeURIComponent(node)}/log`;
  const text = make("pre", {
    class: "log",
    tabindex: "0",
    role: "log",
    "aria-label": `Log of ${node}`,
    "aria-live": "off",
  });
  const problem = make("div");
  const earlier = make("button", { type: "button", class: "small", hidden: true, click: before }, "Earlier lines");
  const follow = make("input", { type: "checkbox", id: "follow-log", checked: true });
  let start = 0;
  let end = -1;
  let asking = false;

  async function before() {
    if (asking) return;
    asking = true;
    try {
      const part = /** @type {Schemas["LogPart"]} */ (await get(path, { lines: LINES, before: start }));
      start = part.start;
      text.prepend(lines(part));
      earlier.hidden = start === 0;
    } catch (error) {
      failed(error);
    } finally {
      asking = false;
    }
  }

  /** @param {unknown} error */
  function failed(error) {
    fill(problem, make("p", { class: "empty" }, sentenceOf(error)));
  }

  async function refresh() {
    if (asking || (end >= 0 && !follow.checked)) return;
    asking = true;
    try {
      const part = /** @type {Schemas["LogPart"]} */ (await get(path, { lines: LINES }));
      if (part.end !== end) {
        start = part.start;
        end = part.end;
        fill(text, part.lines.length ? lines(part) : "The log is empty.");
        earlier.hidden = start === 0;
        text.scrollTop = text.scrollHeight;
      }
      fill(problem);
    } catch (error) {
      failed(error);
    } finally {
      asking = false;
    }
  }

  const element = make(
    "div",
    {},
    make("p", { class: "buttons" }, make("label", { class: "check" }, follow, " Follow"), earlier),
    problem,
    text,
  );
  return { element, refresh };
}

/** @param {Schemas["LogPart"]} part */
function lines(part) {
  return part.lines
    .map(
      (line) =>
        `${line.time == null ? "" : `${new Date(1000 * line.time).toLocaleTimeString([], { hour12: false })}  `}${line.text}\n`,
    )
    .join("");
}
