// Copies a text; without permission for the clipboard, or without HTTPS from another machine, offers it for copying.

import { fill, make } from "../core/dom.js";

/**
 * @param {Element} place where the outcome is shown
 * @param {string} text
 * @param {string} done the sentence after copying
 */
export async function copy(place, text, done) {
  try {
    await navigator.clipboard.writeText(text);
    fill(place, done);
  } catch {
    const area = make("textarea", { rows: 3, class: "copied", readonly: true, "aria-label": "Text to copy" });
    area.value = text;
    fill(place, "The browser does not allow copying; copy this text: ", area);
    area.select();
  }
}
