// Questions in a modal dialog.

import { fill, make } from "../core/dom.js";
import { sentenceOf } from "./problem.js";

/**
 * Shows a question. `act` is called when the user agrees; the dialog stays open with the sentence of an error.
 *
 * @param {object} about
 * @param {string} about.id
 * @param {string} about.title
 * @param {(Node | string)[]} [about.body]
 * @param {string} about.verb text of the button
 * @param {string} [about.kind] class of the button; with `danger`, Enter does not agree
 * @param {() => unknown} about.act
 * @param {() => void} [about.closed] called at the end, whatever the user has answered
 */
export function ask({ id, title, body = [], verb, kind = "primary", act, closed }) {
  const problem = make("p", { class: "problem", role: "alert", hidden: true });
  const agree = make("button", { type: "submit", class: kind, id: `${id}-yes` }, verb);
  const form = make(
    "form",
    {
      submit: (/** @type {Event} */ event) => {
        event.preventDefault();
        agreed();
      },
    },
    make("h2", { id: `${id}-title` }, title),
    ...body,
    problem,
    make(
      "p",
      { class: "buttons" },
      agree,
      make("button", { type: "button", autofocus: kind === "danger", click: () => dialog.close() }, "Cancel"),
    ),
  );
  const dialog = make(
    "dialog",
    {
      id,
      class: "question",
      "aria-labelledby": `${id}-title`,
      close: () => {
        dialog.remove();
        closed?.();
      },
    },
    form,
  );

  async function agreed() {
    agree.disabled = true;
    try {
      await act();
      dialog.close();
    } catch (error) {
      fill(problem, sentenceOf(error));
      problem.hidden = false;
      agree.disabled = false;
    }
  }

  document.body.append(dialog);
  dialog.showModal();
}

/**
 * A question before something that cannot be undone.
 *
 * @param {string} title
 * @param {string} text
 * @param {string} verb text of the button that does it
 * @returns {Promise<boolean>}
 */
export function confirm(title, text, verb) {
  return new Promise((resolve) =>
    ask({
      id: "confirm",
      title,
      body: text ? [make("p", {}, text)] : [],
      verb,
      kind: "danger",
      act: () => resolve(true),
      closed: () => resolve(false),
    }),
  );
}
