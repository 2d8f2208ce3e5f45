// Tags and notes of a run, edited in their cell.

import { fill, make, spoken } from "../../core/dom.js";
import { sentenceOf } from "../../parts/problem.js";

/** @typedef {import("../../core/api.js").Schemas["RunHead"]} RunHead */

/**
 * A cell that becomes a text field when it is clicked. Enter and leaving it save, Escape does not.
 *
 * @param {object} about
 * @param {string} about.id
 * @param {string} about.what for screen readers: `Tags of RUN`
 * @param {string} about.text
 * @param {Node[]} about.shown
 * @param {string} about.empty shown without a text
 * @param {(text: string) => Promise<unknown>} about.save
 */
export function editable({ id, what, text, shown, empty, save }) {
  const cell = make("div", { class: "editable" });

  function rest() {
    // The name of the button is its content, so what is seen is part of it.
    const content = text ? shown.flatMap((part) => [part, " "]) : [make("span", { class: "hint" }, empty)];
    const open = make(
      "button",
      { type: "button", id, class: "quiet edit", click: edit },
      spoken(`${what}: `),
      ...content,
      spoken(". Edit"),
    );
    fill(cell, open);
  }

  function edit() {
    const problem = make("p", { class: "problem", role: "alert", hidden: true });
    const input = make("input", { id: `${id}-input`, "aria-label": what, value: text, autocomplete: "off" });
    let ended = false;
    const leave = (/** @type {boolean} */ focus) => {
      ended = true;
      rest();
      if (focus) document.getElementById(id)?.focus();
    };
    const finish = async (/** @type {boolean} */ focus) => {
      if (ended) return;
      if (input.value.trim() === text) return leave(focus);
      ended = true;
      try {
        await save(input.value.trim());
        // The table is drawn again with the new text.
        fill(cell);
        if (focus) setTimeout(() => document.getElementById(id)?.focus());
      } catch (error) {
        ended = false;
        fill(problem, sentenceOf(error));
        problem.hidden = false;
        input.focus();
      }
    };
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") finish(true);
      if (event.key === "Escape") leave(true);
    });
    input.addEventListener("blur", () => problem.hidden && finish(false));
    fill(cell, input, problem);
    input.focus();
  }

  rest();
  return cell;
}

/** Whether a cell of this element is being edited. @param {HTMLElement} place */
export function isEdited(place) {
  return place.querySelector(".editable input") !== null;
}
