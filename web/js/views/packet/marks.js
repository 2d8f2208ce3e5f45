// Marks of wrong fields: the sentence of the server beside each one.

import { make } from "../../core/dom.js";

/**
 * @param {HTMLElement} place
 * @param {import("../../core/api.js").WrongField[]} fields
 * @param {(field: string) => void} reveal opens the part of the set-up with a field
 */
export function mark(place, fields, reveal) {
  for (const { field, detail } of fields) {
    if (field.startsWith("setup.")) reveal(field);
    for (let path = field; path; path = path.includes(".") ? path.slice(0, path.lastIndexOf(".")) : "") {
      const found = place.querySelector(`[data-field="${CSS.escape(path)}"]`);
      if (!found) continue;
      for (let each = found.parentElement; each; each = each.parentElement)
        if (each instanceof HTMLDetailsElement) each.open = true;
      found.setAttribute("aria-invalid", "true");
      const message = make("span", { class: "field-error" }, detail);
      if (found instanceof HTMLTableCellElement || found instanceof HTMLFieldSetElement) found.append(message);
      else found.after(message);
      break;
    }
  }
}

/** Removes all marks. @param {HTMLElement} place */
export function unmark(place) {
  for (const each of place.querySelectorAll(".field-error")) each.remove();
  for (const each of place.querySelectorAll("[aria-invalid]")) each.removeAttribute("aria-invalid");
}
