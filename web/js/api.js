// Requests to the API. An error response becomes an Error with the sentence of the server.

/** GET a path; resolves to the JSON document. */
export function get(path) {
  return request(path, { method: "GET" });
}

/** POST or DELETE with a JSON body (the server takes nothing else). */
export function send(method, path, body) {
  return request(path, {
    method,
    headers: { "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
}

async function request(path, options) {
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Error("The server does not answer. Is ‘netkv serve’ still running?");
  }
  const document = await answer.json().catch(() => null);
  if (!answer.ok) {
    throw new Error(document?.detail ?? `The server answered with status ${answer.status}.`);
  }
  return document;
}

/**
 * Listen to the event stream. `handlers` has `jobs`, `sample`, `event` and `connection` (true or
 * false). The browser reconnects by itself, with the id of its last message.
 */
export function listen(handlers) {
  const source = new EventSource("/api/v1/stream");
  for (const kind of ["jobs", "sample", "event"]) {
    source.addEventListener(kind, (message) => handlers[kind](JSON.parse(message.data)));
  }
  source.addEventListener("open", () => handlers.connection(true));
  source.addEventListener("error", () => handlers.connection(false));
  return source;
}
