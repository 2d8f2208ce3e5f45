// All labs: what is up, and the form that brings one up.

import { get, send } from "../../core/api.js";
import { fill, make, table } from "../../core/dom.js";
import { NOTHING, duration, rate } from "../../core/format.js";
import * as labs from "../../core/labs.js";
import { lookOf } from "../../core/looks.js";
import { afterPress } from "../../core/press.js";
import { swatch } from "../../core/dom.js";
import * as router from "../../core/router.js";
import { confirm } from "../../parts/dialog.js";
import { progress } from "../../parts/progress.js";
import { create } from "./create.js";
import { sentenceOf } from "../../parts/problem.js";

/** @typedef {import("../../core/api.js").Schemas} Schemas */

/** @param {HTMLElement} place */
export function overview(place) {
  const list = make(
    "div",
    { id: "labs", class: "scroll", tabindex: "0", role: "region", "aria-label": "Labs" },
    make("p", { class: "empty" }, "Loading …"),
  );
  const problem = make("div", { "aria-live": "assertive" });
  const form = create((name) => router.navigate(["labs", name]));
  fill(place, make("section", { class: "card" }, make("h2", {}, "Labs"), list, problem), form.element);

  /** What the stream does not have: fabric and topology. @type {Map<string, Schemas["LabSummary"]>} */
  const summaries = new Map();
  let asked = "";
  let drawn = "";
  /** The labs in the list. @type {labs.Known[]} */
  let shown = [];
  /** @type {Map<string, () => void>} */
  const cells = new Map();

  function drawList() {
    cells.clear();
    fill(
      list,
      shown.length
        ? table(["name", "scheme", "state", "topology", "nodes", "operations/s", "age", ""], shown.map(row))
        : make(
            "p",
            { class: "empty" },
            "No lab is up. A lab is a rack of processes on this machine: bring one up below, or with ‘netkv up’.",
          ),
    );
    for (const each of cells.values()) each();
  }

  /** @param {Map<string, labs.Known>} known */
  async function render(known) {
    const all = [...known.values()].sort((a, b) => a.update.created - b.update.created);
    const key = JSON.stringify(all.map(({ update }) => [update.name, update.created]));
    if (key !== asked) {
      asked = key;
      const found = /** @type {Schemas["LabSummary"][]} */ (await get("/labs").catch(() => []));
      summaries.clear();
      for (const each of found) summaries.set(each.name, each);
    }
    if (key !== asked) return;
    const shape = JSON.stringify([key, all.map(({ update }) => [update.state, update.text, update.answers])]);
    if (shape !== drawn) {
      drawn = shape;
      shown = all;
      afterPress(drawList);
    }
    for (const each of cells.values()) each();
  }

  /** @param {labs.Known} known */
  function row(known) {
    const { update } = known;
    const { name } = update;
    const about = summaries.get(name);
    const [state, nodes, throughput, age] = [0, 1, 2, 3].map(() => make("td"));
    const down = make(
      "button",
      {
        type: "button",
        class: "small danger",
        id: `down-${name}`,
        disabled: update.kind === "run",
        title: update.kind === "run" ? "It ends with its run." : "",
        click: () => takeDown(name, problem),
      },
      "Take down",
    );
    cells.set(name, () => {
      const { update: now, samples } = known;
      fill(
        state,
        make("span", { class: `state state-${now.state}` }, now.state),
        now.state === "starting" && now.filled != null ? progress(`Filling caches of ${name}`, now.filled) : null,
        now.text ? make("small", {}, now.text) : null,
      );
      const running = Object.values(now.running);
      const down = running.filter((each) => !each).length;
      fill(nodes, `${running.length}`, down ? make("small", { class: "bad" }, `✕ ${down} down`) : null);
      fill(throughput, samples.length && now.answers ? rate(samples.at(-1)?.throughput) : NOTHING);
      fill(age, duration(Date.now() / 1000 - now.created));
    });
    const place = about
      ? `${about.topology}, ${about.fabric}${about.target === "engine" ? "" : `, ${about.target}`}`
      : "";
    return [
      make(
        "td",
        { class: "strong" },
        make("a", { href: router.link(["labs", name]) }, name),
        update.kind === "run"
          ? make("small", {}, update.run ? `rack of the run ${update.run}` : "rack of a live run")
          : null,
      ),
      make("td", { class: "left" }, swatch(lookOf(update.scheme)), update.scheme),
      state,
      place,
      nodes,
      throughput,
      age,
      make("td", {}, down),
    ];
  }

  const off = labs.watch(render);
  return { close: off };
}

/**
 * Takes a lab down after a question; resolves to whether it was.
 *
 * @param {string} name
 * @param {HTMLElement} problem
 */
export async function takeDown(name, problem) {
  if (
    !(await confirm(
      `Take the lab ‘${name}’ down?`,
      "Its processes end, and their records and logs are deleted.",
      "Take it down",
    ))
  )
    return false;
  fill(problem);
  try {
    await send("DELETE", `/labs/${encodeURIComponent(name)}`, {});
    return true;
  } catch (error) {
    fill(problem, make("p", { class: "problem", role: "alert" }, sentenceOf(error)));
    return false;
  }
}
