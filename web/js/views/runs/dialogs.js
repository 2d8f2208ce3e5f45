// Dialogs about several runs: their deletion, and their tags.

import { make } from "../../core/dom.js";
import { label } from "../../core/format.js";
import { ask } from "../../parts/dialog.js";

/** @typedef {import("../../core/api.js").Schemas["RunHead"]} RunHead */

/** Runs that are named one by one. */
const NAMED = 8;

/** @param {RunHead[]} runs */
function names(runs) {
  const rest = runs.length - NAMED;
  const shown = runs.slice(0, NAMED).map((run) => make("li", {}, label(run), " ", make("code", {}, run.id)));
  return make("ul", { class: "plain" }, ...shown, rest > 0 ? make("li", {}, `and ${rest} more`) : "");
}

/** @param {RunHead[]} runs @param {() => Promise<unknown>} act */
export function confirmDelete(runs, act) {
  const what = runs.length === 1 ? "this run" : `these ${runs.length} runs`;
  ask({
    id: "delete-dialog",
    title: `Delete ${what}?`,
    body: [make("p", {}, "Figures, series and events are deleted as well. This cannot be undone."), names(runs)],
    verb: "Delete",
    kind: "danger",
    act,
  });
}

/** @param {RunHead[]} runs @param {(add: string[], remove: string[]) => Promise<unknown>} act */
export function askTags(runs, act) {
  const field = (/** @type {string} */ id, /** @type {string} */ text) => {
    const input = make("input", { id, autocomplete: "off", placeholder: "paper baseline" });
    return { input, element: make("div", {}, make("label", { for: id }, text), input) };
  };
  const add = field("tags-add", "Add tags, separated by spaces");
  const remove = field("tags-remove", "Remove tags");
  const words = (/** @type {HTMLInputElement} */ input) => input.value.split(/[\s,]+/).filter(Boolean);
  ask({
    id: "tag-dialog",
    title: `Tags of ${runs.length} ${runs.length === 1 ? "run" : "runs"}`,
    body: [add.element, remove.element, names(runs)],
    verb: "Change tags",
    act: () => act(words(add.input), words(remove.input)),
  });
}
