// The programs that can be chosen: their list, their description, their sources.

import { get } from "../../core/api.js";
import { make } from "../../core/dom.js";

/** @typedef {import("../../core/api.js").Schemas} Schemas */
/** @typedef {Schemas["ProgramSummary"]} Program */

/** All programs, and the name of the one to begin with: that of the first scheme with a cache in the switch. */
export async function programsAndFirst() {
  const [programs, { schemes }] = /** @type {[Program[], Schemas["Schemes"]]} */ (
    await Promise.all([get("/programs"), get("/schemes")])
  );
  const caching = schemes.find((each) => each.kind === "switch-cache")?.name;
  const found = programs.find((each) => each.schemes.some(({ scheme }) => scheme === caching)) ?? programs[0];
  return /** @type {const} */ ([programs, found.name]);
}

/** A program and its examples. @param {string} name */
export async function programAndExamples(name) {
  const path = `/programs/${encodeURIComponent(name)}`;
  const [details, examples] = await Promise.all([get(path), get(`${path}/examples`)]);
  return {
    details: /** @type {Schemas["ProgramDetails"]} */ (details),
    examples: /** @type {Schemas["TraceExample"][]} */ (examples),
  };
}

/**
 * Sentences about a program.
 *
 * @param {boolean} isOwn
 * @param {Program | undefined} program the own one began as this
 * @param {Schemas["TraceExample"] | undefined} example
 */
export function description(isOwn, program, example) {
  if (!program) return [];
  if (isOwn) return [`Your program, on the set-up of the example of ${program.name}.`];
  const tiers = { clients: "switches with clients", between: "switches between", servers: "switches with servers" };
  const uses = program.schemes.map((each) => each.scheme);
  const where = [...new Set(program.schemes.map((each) => tiers[each.tier]))].join(" and ");
  return [
    make("code", {}, `p4/${program.file}`),
    `: runs on ${where} of ${uses.slice(0, 4).join(", ")}${uses.length > 4 ? ` and ${uses.length - 4} more` : ""}. `,
    example
      ? `The set-up is that of switch ‘${example.switch}’ in a small simulated lab of ${example.scheme}${example.cached_keys.length ? `, which caches ${example.cached_keys.length} keys` : ""}.`
      : "",
  ];
}

/**
 * The known sources, and those of files that are included and belong to other programs.
 *
 * @param {string[]} files
 * @param {Record<string, string>} known
 * @param {Program[]} programs
 */
export async function sourcesOf(files, known, programs) {
  const found = { ...known };
  for (const file of files) {
    if (file in found) continue;
    const owner = programs.find((each) => each.files.includes(file));
    if (owner) Object.assign(found, (await get(`/programs/${encodeURIComponent(owner.name)}`)).sources);
  }
  return found;
}
