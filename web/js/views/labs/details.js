// The details of a node: what it is, what it counts, its tables, keys and log, and what can be done to it.

import { get, send } from "../../core/api.js";
import { fill, make, scrolling, table } from "../../core/dom.js";
import { NOTHING, count, latency, rate, share } from "../../core/format.js";
import { confirm } from "../../parts/dialog.js";
import { injector } from "../../parts/injector.js";
import { keys, tables } from "./contents.js";
import { MARKS, WORDS, bits, flow, linkName, linkRates, loads, stateOf } from "./figures.js";
import { log } from "./log.js";
import { sentenceOf } from "../../parts/problem.js";

/** @typedef {import("../../core/api.js").Schemas} Schemas */
/** @typedef {import("../../core/labs.js").Known} Known */
/** @typedef {{ tab: string, table: string }} Chosen */

const POLL_MS = 2000;
const TABS = /** @type {Record<string, string>} */ ({
  state: "State",
  tables: "Tables",
  keys: "Keys",
  faults: "Faults",
  log: "Log",
});
/** What is lost with nodes of these kinds. */
const LOSSES = /** @type {Record<string, string>} */ ({
  servers: "Records that its back end does not keep are lost.",
  redis: "Records that it has not saved are lost.",
  client: "The load ends, and what it has read and written cannot be checked any more.",
});

/**
 * @param {object} about
 * @param {Schemas["Lab"]} about.lab
 * @param {string} about.name of the node
 * @param {Chosen} about.chosen
 * @param {(chosen: Chosen) => void} about.remember
 * @param {() => void} about.dismiss
 * @param {() => void} about.changed a node was started or has ended
 */
export function details({ lab, name, chosen, remember, dismiss, changed }) {
  const node = /** @type {Schemas["LabNode"]} */ (lab.nodes.find((each) => each.name === name));
  const path = `/labs/${encodeURIComponent(lab.name)}/nodes/${encodeURIComponent(name)}`;
  const offered = Object.keys(TABS).filter(
    (tab) =>
      tab === "state" ||
      (node.kind === "external-client"
        ? tab === "faults"
        : node.kind === "switch" || !["tables", "keys"].includes(tab)),
  );
  let tab = offered.includes(chosen.tab) ? chosen.tab : "state";
  /** @type {Schemas["NodeDetails"] | null} */
  let found = null;
  /** @type {Known | null} */
  let known = null;
  let closed = false;
  let turn = 0;
  let refresh = () => {};

  const state = make("span", { class: "state" });
  const act = (/** @type {"start" | "stop" | "kill"} */ action) =>
    make(
      "button",
      {
        type: "button",
        id: `node-${action}`,
        class: action === "kill" ? "danger small" : "small",
        click: () => change(action),
      },
      { start: "Start", stop: "Stop", kill: "Kill" }[action],
    );
  const [start, stop, kill] = [act("start"), act("stop"), act("kill")];
  const problem = make("div", { "aria-live": "assertive" });
  const content = make("div", { id: "node-content", role: "tabpanel" });
  const tabs = make(
    "div",
    { class: "tabs", role: "tablist", "aria-label": `Details of ${name}`, keydown: move },
    ...offered.map((each) =>
      make(
        "button",
        {
          type: "button",
          role: "tab",
          id: `tab-${each}`,
          "aria-controls": "node-content",
          click: () => show(each, true),
        },
        TABS[each],
      ),
    ),
  );
  const element = make(
    "section",
    { class: "card", id: "details", "aria-label": `Node ${name}` },
    make(
      "div",
      { class: "head" },
      make("h2", {}, name, " ", state),
      make(
        "button",
        {
          type: "button",
          class: "quiet small",
          id: "close-details",
          "aria-label": "Close the details",
          click: dismiss,
        },
        "✕",
      ),
    ),
    node.kind !== "external-client" && make("p", { class: "buttons" }, start, stop, kill),
    problem,
    tabs,
    content,
  );

  /** @param {"start" | "stop" | "kill"} action */
  async function change(action) {
    const loss = LOSSES[node.kind];
    if (
      action !== "start" &&
      loss &&
      !(await confirm(
        `${action === "kill" ? "Kill" : "Stop"} ${name}?`,
        loss,
        action === "kill" ? "Kill it" : "Stop it",
      ))
    )
      return;
    fill(problem);
    for (const button of [start, stop, kill]) button.disabled = true;
    try {
      await send("POST", `${path}/${action}`, {});
    } catch (error) {
      fill(problem, make("p", { class: "problem", role: "alert" }, sentenceOf(error)));
    }
    renderState();
    changed();
    poll();
  }

  /** Arrow keys move between tabs. @param {KeyboardEvent} event */
  function move(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const to = offered[(offered.indexOf(tab) + step + offered.length) % offered.length];
    show(to, true);
    document.getElementById(`tab-${to}`)?.focus();
  }

  /** @param {string} to @param {boolean} asked */
  function show(to, asked) {
    tab = to;
    for (const each of offered) {
      const button = /** @type {HTMLElement} */ (tabs.children[offered.indexOf(each)]);
      button.setAttribute("aria-selected", String(each === tab));
      button.tabIndex = each === tab ? 0 : -1;
    }
    content.setAttribute("aria-labelledby", `tab-${tab}`);
    if (asked) remember({ tab, table: chosen.table });
    refresh = () => {};
    if (tab === "state") {
      refresh = () => fill(content, ...stateContent(node, found, known, lab));
      refresh();
    } else if (tab === "tables") {
      showTables();
    } else if (tab === "keys") {
      const part = keys(lab.name, name);
      fill(content, part.element);
      refresh = part.refresh;
      part.refresh();
    } else if (tab === "faults") {
      fill(
        content,
        make("p", { class: "hint" }, "A fault is healed after this time, or when it is healed below the drawing."),
        injector({ id: "node-fault", nodes: lab.nodes, links: lab.links, only: name, lab: () => lab.name }).element,
      );
    } else {
      const part = log(lab.name, name);
      fill(content, part.element);
      refresh = part.refresh;
      part.refresh();
    }
  }

  function showTables() {
    if (!found) {
      fill(content, make("p", { class: "empty" }, "Loading …"));
      refresh = () => found && showTables();
      return;
    }
    const shown = found;
    fill(
      content,
      tables(lab.name, shown, chosen.table, (table) => {
        chosen = { tab, table };
        remember(chosen);
      }),
    );
    // After a restart of the switch, its tables can be read again, or not any more.
    refresh = () => found?.problem !== shown.problem && showTables();
  }

  function renderState() {
    const now = stateOf(node, known);
    state.className = `state node-${now}`;
    fill(state, `${MARKS[now]} ${WORDS[now]}`);
    start.disabled = now === "up" || now === "unknown";
    stop.disabled = kill.disabled = now !== "up";
  }

  async function poll() {
    const mine = ++turn;
    try {
      const loaded = /** @type {Schemas["NodeDetails"]} */ (await get(path));
      if (closed || mine !== turn) return;
      found = loaded;
      Object.assign(node, loaded.node);
    } catch {
      // The state in the head and the sentence of the lab say why.
      if (closed || mine !== turn) return;
    }
    renderState();
    refresh();
    setTimeout(() => !closed && mine === turn && poll(), POLL_MS);
  }

  renderState();
  show(tab, false);
  poll();
  return {
    element,
    name,
    /** @param {Known | null} newest */
    update(newest) {
      known = newest;
      renderState();
      if (tab === "state") refresh();
    },
    close() {
      closed = true;
      element.remove();
    },
  };
}

/**
 * @param {Schemas["LabNode"]} node
 * @param {Schemas["NodeDetails"] | null} found
 * @param {Known | null} known
 * @param {Schemas["Lab"]} lab
 */
function stateContent(node, found, known, lab) {
  const sample = known?.samples.at(-1);
  /** @type {[string, string][]} */
  const facts = [];
  const pid = found?.node.pid ?? node.pid;
  if (pid != null) facts.push(["process", node.host ? `${pid} on ${node.host}` : String(pid)]);
  if (found?.node.program) facts.push(["program", found.node.program]);
  const at = found?.node.arbitration;
  if (at) {
    facts.push(["P4Runtime", `${at.p4runtime}, device ${at.device_id}`]);
    facts.push([
      "controller is",
      at.primary
        ? `primary, election id ${at.election_id}`
        : `${at.state}${at.other_election_id == null ? "" : `; primary has election id ${at.other_election_id}`}`,
    ]);
  }
  if (node.kind === "switch" && sample?.switches[node.name]) {
    const rates = sample.switches[node.name];
    facts.push(
      ["received", flow(rates.received_per_s, rates.received_bytes_per_s)],
      ["sent", flow(rates.sent_per_s, rates.sent_bytes_per_s)],
    );
    facts.push(
      ["packet-ins, packet-outs", `${rate(rates.packet_ins_per_s)}/s, ${rate(rates.packet_outs_per_s)}/s`],
      ["digests", `${rate(rates.digests_per_s)}/s`],
      ["dropped", `${rate(rates.drops_per_s)}/s`],
    );
  }
  if (node.kind === "client" && sample) {
    facts.push(
      ["throughput", `${rate(sample.throughput)} operations/s`],
      ["reads, writes", `${rate(sample.reads_per_s)}/s, ${rate(sample.writes_per_s)}/s`],
      ["hit ratio", share(sample.hit_ratio)],
    );
    facts.push(
      [
        "latency p50, p99",
        sample.latency_us ? `${latency(sample.latency_us.p50)}, ${latency(sample.latency_us.p99)}` : NOTHING,
      ],
      ["retries, lost", `${count(sample.retries)}, ${count(sample.lost)} in this second`],
    );
    facts.push([
      "linearizable",
      sample.linearizable == null
        ? "unknown: nothing was checked, or not all reads could be"
        : sample.linearizable
          ? "yes"
          : "no",
    ]);
  }
  const link = linkRates([node.name], sample);
  if (link) facts.push(["link to it", flow(link.to, link.toBytes)], ["link from it", flow(link.from, link.fromBytes)]);
  /** @type {HTMLElement[]} */
  const parts = [
    make(
      "dl",
      { class: "facts" },
      ...facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))),
    ),
  ];
  if (node.servers.length && node.kind === "servers") parts.push(serversTable(node, found, sample));
  if (node.kind === "switch") parts.push(portsTable(node, lab, known));
  for (const controller of found?.controllers ?? []) {
    parts.push(
      section(`Control plane of ${controller.switches.join(", ")}`, {
        cached: controller.cached,
        ...controller.statistics,
      }),
    );
  }
  const flat = /** @type {Record<string, number>} */ (
    Object.fromEntries(Object.entries(found?.statistics ?? {}).filter(([, value]) => typeof value === "number"))
  );
  if (Object.keys(flat).length) parts.push(section("Counters since its start", flat));
  if (Object.keys(found?.registers ?? {}).length) parts.push(section("Registers of the card", found?.registers ?? {}));
  if (node.kind === "controller") parts.push(...recoveries(lab));
  return parts;
}

/** @param {Schemas["LabNode"]} node @param {Schemas["NodeDetails"] | null} found @param {Schemas["LabSample"] | undefined} sample */
function serversTable(node, found, sample) {
  const counts = /** @type {Record<string, Record<string, number>>} */ (found?.statistics.servers ?? {});
  const load = loads(node, sample);
  const rows = node.servers.map((server, at) => {
    const own = counts[server] ?? {};
    return [
      `server ${server}`,
      rate(load[at]),
      ...["served", "reads", "writes", "dropped"].map((name) => count(own[name])),
    ];
  });
  return scrolling("Load of the servers", table(["", "ops/s", "served", "reads", "writes", "dropped"], rows));
}

/** @param {Schemas["LabNode"]} node @param {Schemas["Lab"]} lab @param {Known | null} known */
function portsTable(node, lab, known) {
  const sample = known?.samples.at(-1);
  const rows = lab.links
    .filter((link) => link.kind !== "control" && (link.a === node.name || link.b === node.name))
    .map((link) => {
      const [port, other] = link.a === node.name ? [link.a_port, link.b] : [link.b_port, link.a];
      const rates = linkRates([linkName(link)], sample);
      const cell = (/** @type {number | undefined} */ frames, /** @type {number | null | undefined} */ bytes) =>
        make("td", {}, rate(frames), make("small", {}, bits(bytes ?? null)));
      const [to, from] = [cell(rates?.to, rates?.toBytes), cell(rates?.from, rates?.fromBytes)];
      // The second switch of a cable receives what goes to it.
      return [
        String(port ?? ""),
        make("td", { class: "left" }, other),
        ...(link.a === node.name ? [from, to] : [to, from]),
      ];
    });
  return scrolling("Ports of the switch", table(["port", "to", "frames/s in", "frames/s out"], rows));
}

/** Titles of the sections that the reader has closed. @type {Set<string>} */
const collapsed = new Set();

/** @param {string} title @param {Record<string, number>} counts */
function section(title, counts) {
  const toggled = (/** @type {Event} */ event) =>
    /** @type {HTMLDetailsElement} */ (event.target).open ? collapsed.delete(title) : collapsed.add(title);
  return make(
    "details",
    { open: !collapsed.has(title), toggle: toggled },
    make("summary", {}, title),
    make(
      "dl",
      { class: "facts narrow" },
      ...Object.entries(counts).map(([name, value]) =>
        make("div", {}, make("dt", {}, name.replaceAll("_", " ")), make("dd", {}, count(value))),
      ),
    ),
  );
}

/** @param {Schemas["Lab"]} lab */
function recoveries(lab) {
  const found = lab.events
    .filter((event) => event.kind === "recovering" || event.kind === "recovered")
    .slice(-10)
    .reverse();
  if (!found.length) return [];
  return [
    make("h3", {}, "Recoveries"),
    make(
      "ul",
      { class: "plain" },
      ...found.map((event) =>
        make(
          "li",
          {},
          make("span", { class: "hint" }, `${Math.round(event.time - lab.created)} s `),
          `${event.node}: ${event.text || event.kind}`,
        ),
      ),
    ),
  ];
}
