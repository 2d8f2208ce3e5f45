// One lab: its topology, the details of a node, faults, charts and events.

import { get, send } from "../../core/api.js";
import { fill, make, table } from "../../core/dom.js";
import { NOTHING, count, duration, latency, number, rate, share } from "../../core/format.js";
import * as labs from "../../core/labs.js";
import * as router from "../../core/router.js";
import { inForce, injector } from "../../parts/injector.js";
import { progress } from "../../parts/progress.js";
import { tiles } from "../../parts/tiles.js";
import { charts } from "./charts.js";
import { details } from "./details.js";
import { takeDown } from "./overview.js";
import { topology } from "./topology.js";
import { sentenceOf } from "../../parts/problem.js";
import { kindCell } from "../../parts/events.js";

/** @typedef {import("../../core/api.js").Schemas} Schemas */

/** Milliseconds between two requests for what the stream does not have: events, pids, arbitration. */
const RELOAD_MS = 5000;

/** @param {HTMLElement} place @param {string} name */
export function lab(place, name) {
  const path = `/labs/${encodeURIComponent(name)}`;
  const head = make("section", { class: "card", id: "lab" }, make("p", { class: "empty" }, "Loading …"));
  const problem = make("div", { "aria-live": "assertive" });
  const numbers = make("div", { id: "lab-tiles" });
  const drawing = topology((node) => select(node));
  const side = make("div", { id: "side" });
  const faults = make("section", { class: "card", id: "lab-faults" });
  const force = make("div", { id: "in-force", "aria-live": "polite" });
  const pictures = charts();
  const events = make("div", {
    id: "lab-events",
    class: "scroll events",
    tabindex: "0",
    role: "region",
    "aria-label": "Events",
  });
  const body = make(
    "div",
    { class: "stack", hidden: true },
    numbers,
    make("div", { class: "beside" }, drawing.element, side, faults),
    pictures.element,
    make(
      "section",
      { class: "card" },
      make(
        "h2",
        {},
        "Events ",
        make("span", { class: "unit" }, "seconds since the lab was brought up; the newest first"),
      ),
      events,
    ),
  );
  fill(place, make("p", {}, make("a", { href: router.link(["labs"]) }, "All labs")), head, problem, body);

  /** @type {Schemas["Lab"] | null} */
  let found = null;
  /** @type {labs.Known | null} */
  let known = null;
  /** @type {ReturnType<typeof details> | null} */
  let open = null;
  let wanted = { node: "", tab: "", table: "" };
  let closed = false;
  /** What the lab was loaded for: it is loaded again when this differs. */
  let seen = "";
  let headDrawn = "";
  let faultsDrawn = "";
  let eventsDrawn = "";
  let timer = 0;
  /** Number of the newest load: an older answer is not shown. */
  let turn = 0;
  let gone = false;

  async function load() {
    const mine = ++turn;
    clearTimeout(timer);
    try {
      const loaded = /** @type {Schemas["Lab"]} */ (await get(path));
      if (closed || mine !== turn) return;
      found = loaded;
      gone = false;
      render();
    } catch (error) {
      if (closed || mine !== turn) return;
      gone = true;
      body.hidden = true;
      headDrawn = "";
      fill(head, make("h1", {}, name), make("p", { class: "problem", role: "alert" }, sentenceOf(error)));
      side.replaceChildren();
      open?.close();
      open = null;
    }
    timer = window.setTimeout(load, RELOAD_MS);
  }

  /** @param {Map<string, labs.Known>} all */
  function follow(all) {
    known = all.get(name) ?? null;
    const update = known?.update;
    const key = JSON.stringify([
      update?.created,
      update?.state,
      update?.answers,
      update?.running,
      update?.faults.length,
      Object.keys(known?.samples.at(-1)?.programs ?? {}),
    ]);
    if (key !== seen) {
      seen = key;
      load();
    }
    if (!gone) render();
  }

  function render() {
    if (!found) return;
    const state = known?.update.state ?? found.state;
    renderHead(found, state);
    const drawable = found.nodes.length > 0;
    body.hidden = !drawable;
    if (!drawable) return;
    numbers.hidden = state === "starting";
    fill(numbers, tiles(headline(known)));
    drawing.update(found, known, wanted.node);
    renderFaults(found);
    renderEvents(found);
    pictures.update(found, known?.samples ?? []);
    renderNode(found);
    open?.update(known);
  }

  /** @param {Schemas["Lab"]} about @param {string} state */
  function renderHead(about, state) {
    const sample = known?.samples.at(-1);
    const loaded = Boolean(sample && sample.phase !== "idle" && sample.phase !== "drain" && sample.phase !== "down");
    const text = known?.update.text ?? about.text;
    const filled = known?.update.filled ?? about.filled;
    const key = JSON.stringify([about.created, state, text, loaded, filled]);
    const age = head.querySelector("#lab-age");
    if (age) age.textContent = `up for ${duration(Date.now() / 1000 - about.created)}`;
    if (key === headDrawn) return;
    headDrawn = key;
    const isRun = about.kind === "run";
    const down = make(
      "button",
      {
        type: "button",
        class: "danger",
        id: "take-down",
        click: async () => {
          if (await takeDown(name, problem)) router.navigate(["labs"]);
        },
      },
      "Take down",
    );
    fill(
      head,
      make(
        "div",
        { class: "head" },
        make("h1", {}, about.name, " ", make("span", { class: `state state-${state}`, id: "lab-state" }, state)),
        make(
          "div",
          { class: "buttons" },
          isRun
            ? make("a", { class: "button", href: router.link(["live"], { run: about.run }) }, "To its run")
            : ["ready", "degraded", "failed"].includes(state)
              ? loadForm(loaded)
              : null,
          !isRun && down,
        ),
      ),
      make(
        "p",
        { class: "hint" },
        `${about.scheme} · ${about.topology} · ${about.fabric} · ${about.target} · `,
        make("span", { id: "lab-age" }, `up for ${duration(Date.now() / 1000 - about.created)}`),
        isRun ? ` · it belongs to ${about.run ? `the run ${about.run}` : "a live run"} and ends with it` : "",
      ),
      state === "starting" && progress(`Bringing ${name} up`, filled),
      state === "starting" &&
        make(
          "p",
          { class: "hint", role: "status" },
          filled == null ? "Its processes are being started …" : "Caches are being filled …",
        ),
      text ? make("p", { class: "problem" }, text) : null,
    );
  }

  /** @param {boolean} loaded */
  function loadForm(loaded) {
    const kind = make(
      "select",
      { id: "load-kind", "aria-label": "Kind of load", class: "short" },
      make("option", { value: "outstanding" }, "requests outstanding"),
      make("option", { value: "rate" }, "operations/s"),
    );
    const value = make("input", {
      id: "load-value",
      type: "number",
      min: 1,
      step: "any",
      value: 16,
      class: "short",
      "aria-label": "How many",
    });
    kind.addEventListener("change", () => {
      value.value = kind.value === "rate" ? "5000" : "16";
    });
    const change = async (/** @type {boolean} */ running) => {
      fill(problem);
      try {
        await send("POST", `${path}/load`, running ? { running, [kind.value]: Number(value.value) } : { running });
      } catch (error) {
        fill(problem, make("p", { class: "problem", role: "alert" }, sentenceOf(error)));
      }
    };
    return make(
      "form",
      {
        id: "load",
        class: "buttons",
        submit: (/** @type {Event} */ event) => {
          event.preventDefault();
          change(true);
        },
      },
      value,
      kind,
      make("button", { class: "primary", id: "load-start" }, loaded ? "Change load" : "Start load"),
      loaded && make("button", { type: "button", id: "load-stop", click: () => change(false) }, "Stop load"),
    );
  }

  /** @param {Schemas["Lab"]} about */
  function renderFaults(about) {
    const now = known?.update.faults ?? about.faults;
    const key = JSON.stringify([about.created, about.nodes.map((node) => node.name)]);
    if (key !== faultsDrawn) {
      faultsDrawn = key;
      const part = injector({ id: "lab-fault", nodes: about.nodes, links: about.links, lab: () => name });
      fill(faults, make("h2", {}, "Inject a fault"), part.element, force);
    }
    inForce(force, name, now);
  }

  /** @param {Schemas["Lab"]} about */
  function renderEvents(about) {
    const key = JSON.stringify([about.created, about.events.length, about.events.at(-1)?.time]);
    if (key === eventsDrawn) return;
    eventsDrawn = key;
    const rows = [...about.events]
      .reverse()
      .map((event) => [(event.time - about.created).toFixed(1), kindCell(event.kind), event.node, event.text]);
    fill(
      events,
      rows.length ? table(["at", "what", "node", "details"], rows) : make("p", { class: "empty" }, "No events."),
    );
  }

  /** @param {Schemas["Lab"]} about */
  function renderNode(about) {
    const there = about.nodes.some((node) => node.name === wanted.node);
    if (open && (!there || open.name !== wanted.node)) {
      open.close();
      open = null;
    }
    if (there && !open) {
      open = details({
        lab: about,
        name: wanted.node,
        chosen: { tab: wanted.tab, table: wanted.table },
        remember: ({ tab, table: chosen }) => {
          wanted = { ...wanted, tab, table: chosen };
          router.change(wanted);
        },
        dismiss: () => select(""),
        changed: load,
      });
      fill(side, open.element);
    } else if (!there && !side.childElementCount) {
      fill(
        side,
        make(
          "section",
          { class: "card nothing" },
          make(
            "p",
            { class: "empty" },
            wanted.node
              ? `There is no node ‘${wanted.node}’ in this lab.`
              : "Choose a node in the drawing: its load, tables, keys, log, and what can be done to it.",
          ),
        ),
      );
    }
  }

  /** @param {string} node */
  function select(node) {
    const before = wanted.node;
    wanted = { node, tab: node && before ? wanted.tab : "", table: "" };
    router.change(wanted);
    if (!node) side.replaceChildren();
    render();
    if (!node && before) document.getElementById(`node-${before}`)?.focus();
  }

  const off = labs.watch(follow);
  load();
  return {
    /** @param {URLSearchParams} query */
    show(query) {
      const next = { node: query.get("node") ?? "", tab: query.get("tab") ?? "", table: query.get("table") ?? "" };
      if (next.node !== wanted.node || next.tab !== wanted.tab) {
        open?.close();
        open = null;
        side.replaceChildren();
      }
      wanted = next;
      pictures.choices.follow(query);
      render();
    },
    close() {
      closed = true;
      clearTimeout(timer);
      off();
      open?.close();
      pictures.close();
    },
  };
}

/** The unit of a share. */
const SHARE = "0 to 1";

/** @param {labs.Known | null} known */
function headline(known) {
  const sample = known?.update.answers ? known.samples.at(-1) : undefined;
  const running = Object.values(known?.update.running ?? {});
  const down = running.filter((each) => !each).length;
  const programs = Object.values(sample?.programs ?? {}).reduce((sum, each) => sum + each.from_per_s, 0);
  const linear = sample?.linearizable;
  return [
    {
      id: "lab-tile-throughput",
      label: "operations/s",
      value: rate(sample?.throughput),
      title: "Of the load generator, in the last second",
    },
    {
      id: "lab-tile-programs",
      label: "frames/s of programs",
      value: sample ? rate(programs) : NOTHING,
      title: "Requests of gateway and client library",
    },
    { id: "lab-tile-p99", label: "p99 latency", value: latency(sample?.latency_us?.p99) },
    {
      id: "lab-tile-hits",
      label: "hit ratio",
      value: share(sample?.hit_ratio),
      title: "Of the reads of load generator, gateway and client library",
    },
    { id: "lab-tile-cached", label: "records cached", value: count(sample?.cached) },
    {
      id: "lab-tile-right",
      label: "linearizable",
      value: linear == null ? NOTHING : linear ? "yes" : "no",
      kind: linear == null ? "" : linear ? "good" : "bad",
      title:
        "Whether all reads since the start of the load were linearizable; –: nothing was checked, or not all could be",
    },
    {
      id: "lab-tile-down",
      label: "nodes down",
      value: running.length ? String(down) : NOTHING,
      kind: down ? "bad" : "",
    },
    ...(sample?.metrics ?? []).map(({ name, label, unit, value }) => ({
      id: `lab-tile-own-${name}`,
      label: !unit || unit === SHARE || label.toLowerCase().includes(unit) ? label : `${label} (${unit})`,
      value: unit === SHARE ? share(value) : Number.isInteger(value) ? count(value) : number(value),
      title: "A metric that only this scheme has, in the last second",
    })),
  ];
}
