// What the page sends as text: in a link, and as commands.

/** @typedef {import("../../core/api.js").Schemas} Schemas */

/** Limit of an edited request in a link. Browsers take more, chat programs and mail often do not. */
const MAX_LINK = 8_000;
/** Limit of a request that a link unfolds to. */
const MAX_TEXT = 4_000_000;

/** What differs from the example; for an own program, all. @typedef {Partial<Omit<import("./types.js").Body, "setup">> & { setup?: Partial<import("./types.js").Setup> }} Changes */

/** @param {Changes} changes @returns {Promise<string | null>} null: too long for a link */
export async function packed(changes) {
  const stream = new Blob([JSON.stringify(changes)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  if (bytes.length * 4 > MAX_LINK * 3) return null;
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** @param {string} text @returns {Promise<Changes>} */
export async function unpacked(text) {
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (each) => each.charCodeAt(0));
    const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
    const decoder = new TextDecoder();
    let found = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      found += decoder.decode(value, { stream: true });
      if (found.length > MAX_TEXT) throw new Error("too long");
    }
    const changes = JSON.parse(found);
    if (typeof changes !== "object" || changes === null || Array.isArray(changes)) throw new Error("no object");
    return changes;
  } catch {
    throw new Error("The changes in this link cannot be read: it was cut off or altered. The example is shown as it is.");
  }
}

/** @param {string} program @param {import("./types.js").Body} body */
export function curl(program, body) {
  return `curl -s '${location.origin}/api/v1/programs/${encodeURIComponent(program)}/trace' \\\n  -H 'content-type: application/json' -d @- <<'END_OF_REQUEST'\n${JSON.stringify(clean(body))}\nEND_OF_REQUEST\n`;
}

/**
 * `netkv p4 trace` for a packet; a sentence if the command cannot do the same.
 *
 * @param {string} file of the program; empty for an own one
 * @param {import("./types.js").Body} body
 * @param {Schemas["TracedPacket"][]} packets
 * @returns {{ command?: string, problem?: string }}
 */
export function traceCommand(file, body, packets) {
  if (!file) return { problem: "‘netkv p4 trace’ needs your program as a file; save it, or use curl." };
  if (packets.length !== 1) return { problem: "‘netkv p4 trace’ sends one packet; several packets are a packet test (‘netkv p4 stf’), or use curl." };
  const { setup } = body;
  if (Object.values(setup ?? {}).some((each) => Array.isArray(each) && each.length > 0)) return { problem: "‘netkv p4 trace’ takes a set-up as a packet test (--setup FILE.stf) and not as JSON; use curl." };
  const defines = Object.entries(body.defines ?? {}).map(([name, value]) => ` -D ${quoted(value ? `${name}=${value}` : name)}`);
  const more = `${body.seed ? ` --seed ${body.seed}` : ""}${body.pipelines && body.pipelines !== 1 ? ` --pipelines ${body.pipelines}` : ""}`;
  return { command: `netkv p4 trace p4/${file} ${packets[0].arrives.bytes} --port ${packets[0].arrives.port}${more}${defines.join("")}\n` };
}

/** @param {string} text */
function quoted(text) {
  return /^[\w=.-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** A request without its null fields. @template T @param {T} value @returns {T} */
export function clean(value) {
  return JSON.parse(JSON.stringify(value, (_name, each) => (each === null ? undefined : each)));
}
