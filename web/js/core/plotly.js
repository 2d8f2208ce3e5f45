// plotly, which is loaded when a chart is to be drawn: reading its 1.5 MB takes longer than showing most views.

import { make } from "./dom.js";

const ADDRESS = "vendor/plotly-cartesian.min.js";

/** @type {Promise<void> | null} */
let loading = null;

/** Loads it, once; then `window.Plotly` is there. Rejects if the server does not answer. */
export function load() {
  loading ??= new Promise((resolve, reject) => {
    if (window.Plotly) return resolve();
    // preload.js may have begun.
    const script = document.querySelector(`script[src="${ADDRESS}"]`) ?? make("script", { src: ADDRESS });
    script.addEventListener("load", () => resolve());
    script.addEventListener("error", () => {
      script.remove();
      loading = null;
      reject(new Error("The drawing library could not be loaded: the server does not answer."));
    });
    document.head.append(script);
  });
  return loading;
}

/** Whether it is loaded. */
export function isLoaded() {
  return Boolean(window.Plotly);
}
