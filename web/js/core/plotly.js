// plotly, which is loaded when a chart is to be drawn: reading its 1.5 MB takes longer than showing most views.

import { make } from "./dom.js";

const ADDRESS = "vendor/plotly-cartesian.min.js";

/** @type {Promise<void> | null} */
let loading = null;

/** Loads it, once; then `window.Plotly` is there. Rejects if the server does not answer. */
export function load() {
  loading ??= new Promise((resolve, reject) => {
    const failed = () => {
      script.remove();
      loading = null;
      reject(new Error("The drawing library could not be loaded: the server does not answer."));
    };
    const script = make("script", { src: ADDRESS, load: () => resolve(), error: failed });
    document.head.append(script);
  });
  return loading;
}

/** Whether it is loaded. */
export function isLoaded() {
  return Boolean(window.Plotly);
}
