// The one event stream of the page. After a loss of the connection it continues where it ended. It has messages about
// labs only while a view shows them, because the server asks the labs for them each second.

import { url } from "./api.js";

/** @typedef {"jobs" | "sample" | "event" | "dropped" | "labs" | "connection"} Kind */
/** @typedef {(data: any) => void} Handler */

const KINDS = /** @type {const} */ (["jobs", "sample", "event", "dropped", "labs"]);
/** Milliseconds before a connection that the server has refused is tried again. */
const AGAIN_MS = 2000;
/** For how long messages about labs continue after the last view of them: the next one may show them, too. */
const KEEP_LABS_MS = 1500;

/** @type {Map<Kind, Set<Handler>>} */
const handlers = new Map();
let last = "";
/** @type {EventSource | null} */
let source = null;
let withLabs = false;
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
  if (kind === "labs") chooseLabs();
  return () => {
    own.delete(handler);
    if (kind === "labs") setTimeout(chooseLabs, KEEP_LABS_MS);
  };
}

/** Connects. */
export function start() {
  source?.close();
  withLabs = wantsLabs();
  const opened = new EventSource(url("/stream", { after: last, labs: withLabs || null }));
  source = opened;
  for (const kind of KINDS) {
    opened.addEventListener(kind, (message) => {
      if (source !== opened) return;
      last = message.lastEventId || last;
      emit(kind, JSON.parse(message.data));
    });
  }
  opened.addEventListener("open", () => connection(true));
  opened.addEventListener("error", () => {
    if (source !== opened) return;
    connection(false);
    // The browser tries again by itself, unless it got an answer that is no stream.
    if (opened.readyState === EventSource.CLOSED) setTimeout(() => source === opened && start(), AGAIN_MS);
  });
}

function wantsLabs() {
  return Boolean(handlers.get("labs")?.size);
}

/** Connects again if messages about labs are wanted and do not come, or the other way round. */
function chooseLabs() {
  if (source && withLabs !== wantsLabs()) start();
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
