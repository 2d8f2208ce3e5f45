// The steps of a packet as a list. It has up to 20,000, so only those in sight are elements.

import { make } from "../../core/dom.js";
import { isMain, shortText, wordsOf } from "./words.js";

/** @typedef {import("../../core/api.js").Schemas} Schemas */

const HEIGHT = 28;
const PAGE = 12;
const PLAY_MS = 350;

/**
 * @param {(step: number) => void} changed
 * @param {(main: boolean) => void} filtered
 */
export function stepList(changed, filtered) {
  /** @type {Schemas["Step"][]} */
  let steps = [];
  /** Indices of the steps that the list has. @type {number[]} */
  let rows = [];
  let current = 0;
  let playing = 0;
  const space = make("div", { class: "space", role: "presentation" });
  const list = make(
    "div",
    {
      class: "steps",
      id: "steps",
      role: "listbox",
      tabindex: 0,
      "aria-label": "Steps of the packet",
      scroll: () => render(),
      keydown: pressed,
    },
    space,
  );
  const slider = make("input", {
    type: "range",
    id: "step-slider",
    min: 0,
    value: 0,
    "aria-label": "Step",
    input: () => choose(rows[Number(slider.value)] ?? 0),
  });
  const play = make(
    "button",
    { type: "button", class: "quiet", id: "play", click: () => (playing ? stop() : start()) },
    "▶ Play",
  );
  const position = make("span", { class: "hint position", id: "position" });
  const main = make("input", { type: "checkbox", id: "main-steps", change: () => filter(main.checked) });
  const element = make(
    "section",
    { class: "card step-card", "aria-label": "Steps" },
    make(
      "div",
      { class: "head" },
      make("h2", {}, "Steps"),
      make("label", { class: "check" }, main, "main steps only"),
      position,
    ),
    make("div", { class: "player" }, play, slider),
    list,
    make("p", { class: "hint keys" }, "Keys: j and k or arrows, Home, End; p plays."),
  );
  const resized = new ResizeObserver(() => render());
  resized.observe(list);
  document.addEventListener("keydown", shortcut);

  /** @param {KeyboardEvent} event */
  function pressed(event) {
    const at = Math.max(0, rowOf(current));
    const next = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: at + PAGE,
      PageUp: at - PAGE,
      Home: 0,
      End: rows.length - 1,
    }[event.key];
    if (next === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    stop();
    move(next);
  }

  /** Keys that work everywhere but in fields. @param {KeyboardEvent} event */
  function shortcut(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !rows.length) return;
    if (
      /** @type {Element} */ (event.target).closest?.(
        "input:not([type=range], [type=checkbox]), select, textarea, [contenteditable]",
      )
    )
      return;
    if (event.key === "p") return playing ? stop() : start();
    const by = { j: 1, k: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    stop();
    move(rowOf(current) + by);
  }

  function start() {
    if (rowOf(current) >= rows.length - 1) choose(rows[0]);
    playing = window.setInterval(() => {
      if (rowOf(current) >= rows.length - 1) return stop();
      move(rowOf(current) + 1);
    }, PLAY_MS);
    play.textContent = "❚❚ Pause";
  }

  function stop() {
    clearInterval(playing);
    playing = 0;
    play.textContent = "▶ Play";
  }

  /** The row of a step, or of the last one before it that is shown. @param {number} step */
  function rowOf(step) {
    let low = 0;
    let high = rows.length;
    while (low < high) {
      const half = (low + high) >> 1;
      if (rows[half] <= step) low = half + 1;
      else high = half;
    }
    return low - 1;
  }

  /** @param {number} row */
  function move(row) {
    choose(rows[Math.max(0, Math.min(rows.length - 1, row))] ?? 0);
  }

  /** @param {number} step */
  function choose(step) {
    show(step);
    changed(current);
  }

  /** Shows a step, without a notification. @param {number} step */
  function show(step) {
    current = Math.max(0, Math.min(steps.length - 1, step));
    const row = Math.max(0, rowOf(current));
    const top = row * HEIGHT;
    if (top < list.scrollTop) list.scrollTop = Math.max(0, top - HEIGHT);
    else if (top + HEIGHT > list.scrollTop + list.clientHeight) list.scrollTop = top + 2 * HEIGHT - list.clientHeight;
    slider.value = String(row);
    slider.setAttribute("aria-valuetext", `Step ${current + 1} of ${steps.length}`);
    position.textContent = `step ${current + 1} of ${steps.length}`;
    render();
  }

  function render() {
    const first = Math.max(0, Math.floor(list.scrollTop / HEIGHT) - 10);
    const last = Math.min(rows.length, Math.ceil((list.scrollTop + list.clientHeight) / HEIGHT) + 10);
    const now = rowOf(current);
    const shown = rows.slice(first, last).map((index, at) => option(index, first + at, now));
    space.replaceChildren(...shown);
    const chosen = rows[now];
    if (now >= first && now < last) list.setAttribute("aria-activedescendant", `step-${chosen}`);
    else list.removeAttribute("aria-activedescendant");
  }

  /** @param {number} index @param {number} row @param {number} now */
  function option(index, row, now) {
    const step = steps[index];
    const { sign, word, group } = wordsOf(step.kind);
    const chosen = row === now;
    const element = make(
      "div",
      {
        class: `step kind-${group}${step.block ? " inner" : ""}`,
        id: `step-${index}`,
        role: "option",
        "aria-selected": String(chosen),
        "aria-posinset": row + 1,
        "aria-setsize": rows.length,
        title: step.text.slice(0, 400),
        click: () => (stop(), choose(index)),
      },
      make("span", { class: "sign", "aria-hidden": "true" }, sign),
      make("span", { class: "word" }, step.kind === "pass" ? step.pipeline : word),
      step.kind === "table"
        ? make(
            "span",
            { class: "text" },
            make("b", { class: step.hit ? "hit" : "miss" }, step.hit ? "hit" : "miss"),
            shortText(step).slice(4),
          )
        : make("span", { class: "text" }, shortText(step).slice(0, 200)),
      step.file && make("span", { class: "where" }, `${step.file.split("/").pop()}:${step.line}`),
    );
    element.style.top = `${row * HEIGHT}px`;
    return element;
  }

  /** @param {boolean} on */
  function filter(on) {
    setRows(on);
    show(rows[Math.max(0, rowOf(current))] ?? 0);
    changed(current);
    filtered(on);
  }

  /** @param {boolean} on */
  function setRows(on) {
    main.checked = on;
    rows = [...steps.keys()].filter((index) => !on || isMain(steps[index]));
    slider.max = String(Math.max(0, rows.length - 1));
    space.style.height = `${rows.length * HEIGHT}px`;
  }

  return {
    element,
    show,
    choose,
    focus: () => list.focus({ preventScroll: true }),
    /** @param {Schemas["Step"][]} next @param {boolean} mainOnly */
    set(next, mainOnly) {
      stop();
      steps = next;
      setRows(mainOnly);
      list.scrollTop = 0;
    },
    close() {
      stop();
      resized.disconnect();
      document.removeEventListener("keydown", shortcut);
    },
  };
}
