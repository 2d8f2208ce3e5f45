// A question before something that cannot be undone.

import { make } from "../core/dom.js";

/**
 * @param {string} question
 * @param {string} yes text of the button that does it
 * @returns {Promise<boolean>}
 */
export function confirm(question, yes) {
  return new Promise((resolve) => {
    const dialog = make(
      "dialog",
      { class: "confirm", "aria-label": yes, close: () => { dialog.remove(); resolve(dialog.returnValue === "yes"); } },
      make(
        "form",
        { method: "dialog" },
        make("p", {}, question),
        make("p", { class: "buttons" }, make("button", { value: "no", autofocus: true }, "Cancel"), make("button", { value: "yes", class: "danger" }, yes)),
      ),
    );
    document.body.append(dialog);
    dialog.showModal();
  });
}
