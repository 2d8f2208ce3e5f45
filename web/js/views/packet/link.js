// What the page sends as text: in a link, and as commands.

import { quoted } from "../../core/command.js";
import * as packing from "../../core/packed.js";

/** @typedef {import("../../core/api.js").Schemas} Schemas */

/** Limit of a request that a link unfolds to. */
const MAX_TEXT = 4_000_000;

/** What differs from the example; for an own program, all. @typedef {Partial<Omit<import("./types.js").Body, "setup">> & { setup?: Partial<import("./types.js").Setup> }} Changes */

/**
 * What differs between a request and that of the example.
 *
 * @param {import("./types.js").Body} body
 * @param {import("./types.js").Body} before
 * @returns {Changes}
 */
export function differences(body, before) {
  /** @type {Record<string, unknown>} */
  const found = {};
  const same = (/** @type {unknown} */ a, /** @type {unknown} */ b) => JSON.stringify(a) === JSON.stringify(b);
  for (const name of /** @type {const} */ (["packets", "seed", "pipelines", "defines"]))
    if (!same(body[name], before[name])) found[name] = body[name];
  const parts = Object.fromEntries(
    Object.entries(body.setup).filter(
      ([name, value]) => !same(value, before.setup[/** @type {keyof typeof before.setup} */ (name)]),
    ),
  );
  if (Object.keys(parts).length) found.setup = parts;
  return found;
}

/** @param {Changes} changes @returns {Promise<string | null>} null: too long for a link */
export function packed(changes) {
  return packing.packed(JSON.stringify(changes));
}

/** @param {string} text @returns {Promise<Changes>} */
export async function unpacked(text) {
  try {
    const changes = JSON.parse(await packing.unpacked(text, MAX_TEXT));
    if (typeof changes !== "object" || changes === null || Array.isArray(changes)) throw new Error("no object");
    return changes;
  } catch {
    throw new Error(
      "The changes in this link cannot be read: it was cut off or altered. The example is shown as it is.",
    );
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
  if (packets.length !== 1)
    return {
      problem: "‘netkv p4 trace’ sends one packet; several packets are a packet test (‘netkv p4 stf’), or use curl.",
    };
  const { setup } = body;
  if (Object.values(setup ?? {}).some((each) => Array.isArray(each) && each.length > 0))
    return {
      problem: "‘netkv p4 trace’ takes a set-up as a packet test (--setup FILE.stf) and not as JSON; use curl.",
    };
  const defines = Object.entries(body.defines ?? {}).map(
    ([name, value]) => ` -D ${quoted(value ? `${name}=${value}` : name)}`,
  );
  const more = `${body.seed ? ` --seed ${body.seed}` : ""}${body.pipelines && body.pipelines !== 1 ? ` --pipelines ${body.pipelines}` : ""}`;
  return {
    command: `netkv p4 trace p4/${file} ${packets[0].arrives.bytes} --port ${packets[0].arrives.port}${more}${defines.join("")}\n`,
  };
}

/** A request without its null fields. @template T @param {T} value @returns {T} */
export function clean(value) {
  return JSON.parse(JSON.stringify(value, (_name, each) => (each === null ? undefined : each)));
}
