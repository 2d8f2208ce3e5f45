// The one event stream of the page. After a loss of the connection it continues where it ended.

import { url } from "./api.js";

/** @typedef {"jobs" | "sample" | "event" | "dropped" | "labs" | "connection"} Kind */
/** @typedef {(data: any) => void} Handler */

const KINDS = /** @type {const} */ (["jobs", "sample", "event", "dropped", "labs"]);
/** Milliseconds before a connection that the server has refused is tried again. */
const AGAIN_MS = 2000;

/** @type {Map<Kind, Set<Handler>>} */
const handlers = new Map();
let last = "";
/** Whether the server answers; null before the first answer. */
let connected = /** @type {boolean | null} */ (null);

/**
 * Calls `handler` with each message of a kind; for `connection` with true or false.
 *
 * @param {Kind} kind
 * @param {Handler} handler
 * @returns {() => void} ends it
 */
export function on(kind, handler) {
  const own = handlers.get(kind) ?? new Set();
  handlers.set(kind, own.add(handler));
  if (kind === "connection" && connected !== null) handler(connected);
  return () => own.delete(handler);
}

/** Connects. */
export function start() {
  const source = new EventSource(url("/stream", { after: last }));
  for (const kind of KINDS) {
    source.addEventListener(kind, (message) => {
      last = message.lastEventId || last;
      emit(kind, JSON.parse(message.data));
    });
  }
  source.addEventListener("open", () => connection(true));
  source.addEventListener("error", () => {
    connection(false);
    // The browser tries again by itself, unless it got an answer that is no stream.
    if (source.readyState === EventSource.CLOSED) setTimeout(start, AGAIN_MS);
  });
}

/** @param {boolean} there */
function connection(there) {
  if (there === connected) return;
  connected = there;
  emit("connection", there);
}

/**
 * @param {Kind} kind
 * @param {unknown} data
 */
function emit(kind, data) {
  for (const handler of handlers.get(kind) ?? []) handler(data);
}
