// What a switch of a running lab has, for a trace: its tables as a set-up, and packets that arrive at it.

import { get } from "../../core/api.js";
import { fill, make } from "../../core/dom.js";
import { count } from "../../core/format.js";
import { problem, sentenceOf } from "../../parts/problem.js";
import { complete } from "./setup.js";

/** @typedef {import("../../core/api.js").Schemas} Schemas */
/**
 * @typedef {object} Taken
 * @property {string} scheme
 * @property {import("./types.js").Entry[]} entries
 * @property {import("./types.js").DefaultAction[]} defaults
 * @property {string[]} cached keys
 * @property {{ port: number, name: string }[]} ports
 * @property {boolean} more whether the switch has more entries than a set-up
 */

const PAGE = 1000;
const MAX_ENTRIES = 10_000;
const EXPLANATION =
  "Tables are read by P4Runtime. P4Runtime cannot read the registers of a live switch: they are 0 in the trace unless you set them. A key that the lab has cached may therefore be a miss.";

/**
 * @param {(taken: Taken) => string} use returns a sentence about what was taken
 * @param {(packets: import("./types.js").Packet[]) => void} usePackets
 */
export function labPart(use, usePackets) {
  const body = make("div", { class: "lab-part" });
  const element = make(
    "details",
    { class: "card", id: "from-lab", toggle: () => element.open && load() },
    make("summary", {}, "Take tables and packets from a running lab"),
    body,
  );

  async function load() {
    try {
      const labs = /** @type {Schemas["LabSummary"][]} */ (await get("/labs"));
      const ready = labs.filter((each) => each.state === "ready" || each.state === "failed");
      if (!ready.length)
        return fill(
          body,
          make("p", { class: "empty" }, "No lab is running. ‘netkv up’, or the view Labs, brings one up."),
        );
      const details = await Promise.all(
        ready.map((each) => get(`/labs/${encodeURIComponent(each.name)}`).catch(() => null)),
      );
      const switches = /** @type {Schemas["Lab"][]} */ (details.filter(Boolean)).flatMap((lab) =>
        lab.nodes.filter((node) => node.kind === "switch" && node.running).map((node) => ({ lab, node })),
      );
      const choice = make(
        "select",
        { "aria-label": "Switch of a lab" },
        ...switches.map(({ lab, node }, at) =>
          make("option", { value: at }, `${lab.name}: ${node.name} (${lab.scheme})`),
        ),
      );
      const said = make("p", { class: "hint", role: "status" });
      const take = make("button", { type: "button", id: "take-tables", click: () => taken() }, "Take its tables");
      const packets = make(
        "button",
        {
          type: "button",
          id: "take-packets",
          click: () => reading(async (lab, node) => arrived(await get(`${pathOf(lab, node)}/packets`))),
        },
        "Take packets that arrive",
      );
      const taken = () => reading(async (lab, node) => use(await read(lab, node)));
      const arrived = (/** @type {import("./types.js").Packet[]} */ found) => {
        if (!found.length)
          return "No packet arrived within a second. Start the load of the lab, or send requests to it.";
        usePackets(found.map(({ port, frame, title }) => ({ port, frame, title })));
        return `${count(found.length)} ${found.length === 1 ? "packet" : "packets"} arrived. Take the tables, too, and send them.`;
      };
      /** @param {(lab: Schemas["Lab"], node: Schemas["LabNode"]) => Promise<string>} work */
      async function reading(work) {
        const { lab, node } = switches[Number(choice.value)];
        take.disabled = packets.disabled = true;
        fill(said, "Reading …");
        try {
          fill(said, await work(lab, node));
        } catch (error) {
          fill(said, sentenceOf(error));
        }
        take.disabled = packets.disabled = false;
      }
      fill(
        body,
        make("p", { class: "hint" }, EXPLANATION),
        switches.length
          ? make("p", { class: "buttons" }, choice, take, packets)
          : make("p", { class: "empty" }, "No switch of a lab is running."),
        said,
      );
    } catch (error) {
      fill(body, problem(error));
    }
  }
  return element;
}

/** @param {Schemas["Lab"]} lab @param {Schemas["LabNode"]} node */
function pathOf(lab, node) {
  return `/labs/${encodeURIComponent(lab.name)}/nodes/${encodeURIComponent(node.name)}`;
}

/** @param {Schemas["Lab"]} lab @param {Schemas["LabNode"]} node @returns {Promise<Taken>} */
async function read(lab, node) {
  const path = pathOf(lab, node);
  const details = /** @type {Schemas["NodeDetails"]} */ (await get(path));
  if (details.problem) throw new Error(details.problem);
  /** @type {Taken} */
  const taken = { scheme: lab.scheme, entries: [], defaults: [], cached: [], ports: [], more: false };
  for (const { name } of details.tables) {
    for (let offset = 0, more = true; more; offset += PAGE) {
      const part = /** @type {Schemas["TableContents"]} */ (
        await get(`${path}/tables/${encodeURIComponent(name)}`, { offset, limit: PAGE })
      );
      const found = part.entries ?? [];
      const room = MAX_ENTRIES - taken.entries.length;
      taken.entries.push(
        ...found
          .slice(0, room)
          .map(({ match, action, params, priority }) => ({ table: name, match, action, params, priority })),
      );
      if (offset === 0 && part.default)
        taken.defaults.push({ table: name, action: part.default.action, params: part.default.params });
      more = part.more;
      if (found.length > room || (more && found.length === room)) {
        taken.more = true;
        break;
      }
    }
  }
  const cached = await get(`${path}/cached`).catch(() => null);
  taken.cached = cached?.keys.map((/** @type {string} */ key) => (key.startsWith("0x") ? key : `0x${key}`)) ?? [];
  for (const link of lab.links) {
    if (link.a === node.name && link.a_port != null) taken.ports.push({ port: link.a_port, name: link.b });
    else if (link.b === node.name && link.b_port != null) taken.ports.push({ port: link.b_port, name: link.a });
  }
  return taken;
}

/**
 * The set-up that a program can have of what was taken.
 *
 * @param {Taken} taken
 * @param {Schemas["ProgramInterface"]} program
 * @param {import("./types.js").Setup} before the present set-up
 * @returns {import("./types.js").Setup}
 */
export function usable(taken, program, before) {
  const tables = new Map(program.tables.map((each) => [each.name, each]));
  // Of the default actions, those that the control plane has changed.
  const isChanged = (/** @type {import("./types.js").DefaultAction} */ each) => {
    const table = tables.get(each.table);
    return (
      table && (each.action !== table.default_action || before.defaults.some((other) => other.table === each.table))
    );
  };
  return {
    ...complete(undefined),
    entries: taken.entries.filter((each) => tables.get(each.table) && !tables.get(each.table)?.constant),
    defaults: taken.defaults.filter(isChanged),
  };
}

/** @param {Taken} taken @param {number} used entries that the program has tables for */
export function sentence(taken, used) {
  const left = taken.entries.length - used;
  return `${count(used)} entries were taken${left ? `; ${count(left)} are of tables that this program does not have` : ""}${taken.more ? `; the switch has more than the ${count(MAX_ENTRIES)} that a set-up can have` : ""}. Fields for keys and ports offer the lab's cached keys and hosts.`;
}
