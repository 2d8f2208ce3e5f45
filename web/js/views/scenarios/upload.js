// Opens a scenario file of the user, from a button or dropped onto the page.

import { fill, make } from "../../core/dom.js";
import * as router from "../../core/router.js";
import { packed } from "../../core/packed.js";
import { MAX_TEXT, stash } from "./address.js";

/**
 * A button that opens a file, and a place for problems with it; `place` accepts dropped files until `close`.
 *
 * @param {HTMLElement} place
 */
export function opener(place) {
  const ends = new AbortController();
  const until = { signal: ends.signal };
  const zone = make("div", { class: "drop", id: "drop" });
  const input = make("input", {
    type: "file",
    id: "file",
    class: "hidden",
    accept: ".yaml,.yml,.json",
    tabindex: "-1",
    "aria-hidden": "true",
    "aria-label": "Scenario file",
    change: () => input.files?.[0] && open(input.files[0]),
  });
  const button = make(
    "button",
    {
      type: "button",
      id: "open-file",
      title: "A YAML or JSON file; it can also be dropped onto this page.",
      click: () => input.click(),
    },
    "Open a file …",
  );
  zone.append(input);
  place.addEventListener(
    "dragover",
    (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      zone.classList.add("over");
    },
    until,
  );
  place.addEventListener("dragleave", () => zone.classList.remove("over"), until);
  place.addEventListener(
    "drop",
    (event) => {
      zone.classList.remove("over");
      const file = event.dataTransfer?.files[0];
      if (!file) return;
      event.preventDefault();
      open(file);
    },
    until,
  );

  /** @param {File} file */
  async function open(file) {
    zone.querySelector(".problem")?.remove();
    input.value = "";
    if (file.size > MAX_TEXT) {
      zone.append(
        make(
          "p",
          { class: "problem", role: "alert" },
          `${file.name} has ${file.size.toLocaleString("en")} bytes; a scenario has at most ${MAX_TEXT.toLocaleString("en")}.`,
        ),
      );
      return;
    }
    const text = await file.text();
    const short = await packed(text);
    if (short == null) stash(text);
    fill(zone, input);
    router.navigate(["scenarios", "new"], { yaml: short, file: file.name });
  }
  return { zone, button, close: () => ends.abort() };
}
