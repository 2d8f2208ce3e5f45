// Requests to the API. An error response becomes an ApiError with the sentence of the server.

/** @typedef {import("api").components["schemas"]} Schemas */
/** @typedef {{ field: string, detail: string, where: string }} WrongField */

const PREFIX = "/api/v1";

/** An answer of the server that reports an error, or no answer. */
export class ApiError extends Error {
  /**
   * @param {string} message the sentence of the server
   * @param {number} status the status of the answer; 0 without one
   * @param {WrongField[]} fields the wrong fields of the request
   */
  constructor(message, status = 0, fields = []) {
    super(message);
    this.status = status;
    this.fields = fields;
  }
}

/**
 * A path of the API with parameters. Null and undefined are left out; an array gives its parameter repeatedly.
 *
 * @param {string} path below `/api/v1`
 * @param {Record<string, unknown>} [query]
 */
export function url(path, query = {}) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const each of Array.isArray(value) ? value : [value])
      if (each != null && each !== "") parameters.append(name, String(each));
  }
  const text = parameters.toString();
  return `${PREFIX}${path}${text ? `?${text}` : ""}`;
}

/**
 * GET a path; resolves to the JSON document.
 *
 * @param {string} path
 * @param {Record<string, unknown>} [query]
 * @param {AbortSignal} [signal] ends the request
 * @returns {Promise<any>}
 */
export function get(path, query, signal) {
  return request(url(path, query), { method: "GET", signal });
}

/**
 * POST, PATCH, PUT or DELETE with a JSON body (the server takes nothing else).
 *
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @returns {Promise<any>}
 */
export function send(method, path, body) {
  return request(url(path), {
    method,
    headers: { "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
}

/**
 * @param {string} address
 * @param {RequestInit} options
 */
async function request(address, options) {
  let answer;
  try {
    answer = await fetch(address, options);
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new ApiError("The server does not answer. Is ‘netkv serve’ still running?");
  }
  if (answer.status === 204) return null;
  const document = await answer.json().catch(() => null);
  if (!answer.ok)
    throw new ApiError(
      document?.detail ?? `The server answered with status ${answer.status}.`,
      answer.status,
      document?.errors ?? [],
    );
  return document;
}
