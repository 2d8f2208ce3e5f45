// Faults of a rack: what can be injected into it, and what is in force. Used for labs and for the rack of a live run.

import { send } from "../core/api.js";
import { fill, make } from "../core/dom.js";
import { duration } from "../core/format.js";
import { sentenceOf } from "./problem.js";

/** @typedef {import("../core/api.js").Schemas} Schemas */
/** @typedef {Pick<Schemas["LabNode"], "name" | "kind">} Node */
/** @typedef {Pick<Schemas["LabLink"], "kind" | "a" | "b">} Link */
/** @typedef {Record<string, unknown>} Body */
/** @typedef {{ id: string, text: string, targets: string[], body: (target: string) => Body, lasts: boolean, title: string }} Offer */

const SERVERS = new Set(["servers"]);
const HOSTS = new Set(["client", "external-client", "servers", "coordinator"]);

/**
 * The faults that a rack of these nodes can have, each with the nodes that it can hit.
 *
 * @param {Node[]} nodes
 * @param {Link[]} links
 * @returns {Offer[]}
 */
export function offers(nodes, links) {
  const of = (/** @type {Set<string>} */ kinds) =>
    nodes.filter((node) => kinds.has(node.kind)).map((node) => node.name);
  const cables = links.filter((link) => link.kind === "cable").map((link) => `${link.a}:${link.b}`);
  const ends = [...of(HOSTS), ...cables];
  const kill = (/** @type {string} */ target) => ({ kill: target });
  const link = (/** @type {Body} */ settings) => (/** @type {string} */ node) => ({ link: { node, ...settings } });
  const all = [
    {
      id: "switch",
      text: "Crash switch",
      targets: of(new Set(["switch"])),
      body: kill,
      lasts: true,
      title: "It loses its tables and registers, as in a power cut.",
    },
    {
      id: "server",
      text: "Crash server",
      targets: of(SERVERS),
      body: kill,
      lasts: true,
      title: "The process with these servers is killed; with the memory back end, records are lost.",
    },
    {
      id: "controller",
      text: "Crash controller",
      targets: of(new Set(["controller"])),
      body: kill,
      lasts: true,
      title: "No admission and no recovery until it is started again.",
    },
    {
      id: "loss",
      text: "Drop frames",
      targets: ends,
      body: link({ loss: 0.1 }),
      lasts: true,
      title: "Drops 10% of the frames on this link, in both directions.",
    },
    {
      id: "corrupt",
      text: "Corrupt frames",
      targets: ends,
      body: link({ corrupt: 0.1 }),
      lasts: true,
      title: "Flips bits in 10% of the frames on this link, in both directions.",
    },
    {
      id: "delay",
      text: "Delay frames",
      targets: ends,
      body: link({ delay: 0.005 }),
      lasts: true,
      title: "5 ms more on this link, in both directions.",
    },
    {
      id: "reorder",
      text: "Reorder frames",
      targets: ends,
      body: link({ reorder: 0.2 }),
      lasts: true,
      title: "20% of the frames on this link are overtaken by later ones.",
    },
    {
      id: "shift",
      text: "Shift popularity",
      targets: of(new Set(["client"])).slice(0, 1),
      body: () => ({ shift: { kind: "hot-in", keys: 100 } }),
      lasts: false,
      title: "The 100 least popular keys become the most popular ones.",
    },
  ];
  return all.filter((offer) => offer.targets.length > 0);
}

/** Seconds for which a fault lasts if nothing else is chosen. */
const LASTS_S = 2;

/**
 * Buttons of faults, a choice of their node where there are several, and a duration.
 *
 * @param {object} about
 * @param {string} about.id prefix of ids
 * @param {Node[]} about.nodes
 * @param {Link[]} about.links
 * @param {string} [about.only] offer only faults of this node
 * @param {() => string} about.lab name of the lab now
 */
export function injector({ id, nodes, links, only, lab }) {
  const problem = make("div", { "aria-live": "assertive" });
  const seconds = make("input", {
    id: `${id}-duration`,
    type: "number",
    min: 0.1,
    max: 86400,
    step: "any",
    value: LASTS_S,
    class: "short",
  });
  const found = offers(nodes, links)
    .map((offer) =>
      only ? { ...offer, targets: offer.targets.filter((target) => target.split(":").includes(only)) } : offer,
    )
    .filter((offer) => offer.targets.length > 0 && !(only && offer.id === "shift"));

  /** @param {Offer} offer @param {() => string} target @param {HTMLButtonElement} button */
  async function inject(offer, target, button) {
    fill(problem);
    const lasts = Number(seconds.value);
    const body = { ...offer.body(target()), ...(offer.lasts && seconds.value !== "" ? { duration: lasts } : {}) };
    button.disabled = true;
    try {
      await send("POST", `/labs/${encodeURIComponent(lab())}/faults`, body);
    } catch (error) {
      fill(problem, make("p", { class: "problem", role: "alert" }, sentenceOf(error)));
    } finally {
      button.disabled = false;
    }
  }

  const buttons = found.map((offer) => {
    const choice =
      offer.targets.length > 1
        ? make(
            "select",
            { "aria-label": `${offer.text}: which`, class: "short" },
            ...offer.targets.map((target) => make("option", { value: target }, target)),
          )
        : null;
    const target = () => choice?.value ?? offer.targets[0];
    const button = make(
      "button",
      { type: "button", id: `${id}-${offer.id}`, title: offer.title, click: () => inject(offer, target, button) },
      offer.text,
    );
    return make("span", { class: "offered" }, button, choice);
  });
  const element = make(
    "fieldset",
    { class: "injector" },
    make("legend", { class: "hidden" }, "Faults"),
    make(
      "div",
      { class: "buttons" },
      ...buttons,
      make("label", { class: "for", title: "If empty, the fault lasts until you heal it." }, "for ", seconds, " s"),
    ),
    problem,
  );
  return { element };
}

/**
 * The faults in force, each with a button that heals it.
 *
 * @param {HTMLElement} place
 * @param {string} lab
 * @param {Schemas["FaultInForce"][]} faults
 */
export function inForce(place, lab, faults) {
  const key = JSON.stringify([lab, faults]);
  if (place.dataset.key !== key) {
    place.dataset.key = key;
    fill(place, ...faults.map((fault, at) => line(place, lab, fault, at)));
  }
  for (const timer of place.querySelectorAll("time[data-end]")) {
    const left = Number(/** @type {HTMLElement} */ (timer).dataset.end) - Date.now() / 1000;
    timer.textContent = left > 0 ? `healed in ${duration(Math.ceil(left))}` : "being healed";
  }
}

/** @param {HTMLElement} place @param {string} lab @param {Schemas["FaultInForce"]} fault @param {number} at */
function line(place, lab, fault, at) {
  const heal = async () => {
    button.disabled = true;
    try {
      for (const body of fault.heal) await send("POST", `/labs/${encodeURIComponent(lab)}/faults`, body);
    } catch (error) {
      place.append(make("p", { class: "problem", role: "alert" }, sentenceOf(error)));
      button.disabled = false;
    }
  };
  const button = make(
    "button",
    { type: "button", id: `heal-${at}`, class: "small", click: heal, "aria-label": `Heal now: ${fault.text}` },
    "Heal now",
  );
  const until =
    fault.end == null
      ? make("span", { class: "hint" }, "until it is healed")
      : make("time", { class: "hint", "data-end": fault.end });
  return make("p", { class: "fault" }, make("strong", {}, fault.text), " ", until, " ", button);
}
