// Files that the page makes and the browser saves.

import { make } from "../core/dom.js";

/** @param {string} name @param {string} type @param {string} text */
export function save(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  saveUrl(name, address);
  // After the click is handled.
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/** @param {string} name @param {string} address */
export function saveUrl(name, address) {
  make("a", { href: address, download: name }).click();
}
