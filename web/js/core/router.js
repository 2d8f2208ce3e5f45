// The view and its state in the address: `#/runs/ID?name=value`. A link to it shows the same again.

/** @typedef {{ view: string, path: string[], query: URLSearchParams }} Route */

/** The view of an address that names none. */
export const FIRST = "live";

/** @type {(route: Route) => void} */
let changed = () => {};

/**
 * `notify` is called now and at each change of the address.
 *
 * @param {(route: Route) => void} notify
 */
export function start(notify) {
  changed = notify;
  addEventListener("hashchange", () => changed(current()));
  changed(current());
}

/** The current route. @returns {Route} */
export function current() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [view, ...rest] = path.split("/").filter(Boolean).map(decode);
  return { view: view ?? FIRST, path: rest, query: new URLSearchParams(query) };
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * The address of a view, for links. Arrays give their parameter repeatedly; empty values are left out.
 *
 * @param {string[]} path name of the view, and what it shows
 * @param {Record<string, unknown>} [query]
 */
export function link(path, query = {}) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const each of Array.isArray(value) ? value : [value])
      if (each != null && each !== "" && each !== false) parameters.append(name, String(each));
  }
  const text = parameters.toString();
  return `#/${path.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

/**
 * Shows another view; the browser's button goes back.
 *
 * @param {string[]} path
 * @param {Record<string, unknown>} [query]
 */
export function navigate(path, query) {
  location.hash = link(path, query);
}

/**
 * Writes a state of the current view into the address, without a step in the history.
 *
 * @param {Record<string, unknown>} query all parameters
 * @param {string[]} [path] what the view shows; by default as before
 */
export function remember(query, path) {
  const { view, path: before } = current();
  history.replaceState(null, "", link([view, ...(path ?? before)], query));
}

/**
 * Changes some parameters of the current address, without a step in the history. Others stay.
 *
 * @param {Record<string, string | null | undefined>} parameters null and empty ones are removed
 */
export function change(parameters) {
  const { view, path, query } = current();
  for (const [name, value] of Object.entries(parameters)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const text = query.toString();
  history.replaceState(null, "", `${link([view, ...path])}${text ? `?${text}` : ""}`);
}
