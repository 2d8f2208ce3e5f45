// The events of a scenario: a picture of its timeline, and a list to change them.

import { draw, fill, make } from "../../core/dom.js";
import { field, showErrors } from "./fields.js";
import * as schema from "./schema.js";

/** @typedef {import("./fields.js").Form} Form */
/** @typedef {import("./fields.js").Field} Field */
/** @typedef {{ key: string, element: HTMLElement, update: () => void }} Row of an event; its key is what it depends on */
/** @typedef {{ at: number, outage: string, node: string, text: string }} Shown */

/** Height of the picture in pixels, and its width before it is laid out. */
const WIDTH = 640;
const HEIGHT = 92;
/** Heights of the names of events, in turn, so that close ones do not overlap. */
const LEVELS = [14, 27, 40];

/** @param {Form} form @returns {Field} */
export function timeline(form) {
  const model = schema.resolved(form.root, form.root.properties.events.items);
  const actions = Object.keys(model.properties).filter((name) => "beginning" in model.properties[name]);
  const further = Object.keys(model.properties).filter((name) => "of" in model.properties[name]);
  const picture = make("div", { class: "timeline" });
  const place = make("ol", { class: "rows plain", id: "option-events", tabindex: "-1" });
  const error = make("p", { class: "problem", role: "alert", hidden: true });
  const add = make(
    "button",
    {
      type: "button",
      id: "add-events",
      click: () => form.change([{ path: ["events", events().length], value: { at: later(), kill: "switch" } }]),
    },
    "Add an event",
  );
  /** @type {Row[]} */
  let rows = [];
  let painted = "";
  new ResizeObserver(() => repaint()).observe(picture);

  function repaint() {
    const shift = form.value(["workload", "shift"]);
    const look = {
      width: picture.clientWidth || WIDTH,
      warmup: number("warmup"),
      duration: number("duration"),
      events: events().map((event) => shown(form.root, model, event, actionOf(event))),
      shift,
    };
    const now = JSON.stringify(look);
    if (now !== painted) fill(picture, paint(look));
    painted = now;
  }

  /** @returns {any[]} */
  const events = () => (Array.isArray(form.value(["events"])) ? form.value(["events"]) : []);
  const number = (/** @type {string} */ name) => {
    const value = form.value([name]) ?? form.root.properties[name].default;
    return typeof value === "number" && Number.isFinite(value) ? value : 0;
  };
  const actionOf = (/** @type {any} */ event) => actions.find((name) => event?.[name] != null) ?? "";
  /** Options besides the action that an event has, or may have. */
  const furtherOf = (/** @type {any} */ event) =>
    further.filter((name) => {
      const { action, node } = model.properties[name].of;
      return event?.[name] != null || String(event?.[action] ?? "").startsWith(node);
    });

  /** A time for a new event: behind the last one, in the measured part. */
  function later() {
    const last = Math.max(0, ...events().map((event) => Number(event?.at) || 0));
    return Math.min(number("duration"), Math.round((last || number("duration") / 4) + (last ? 1 : 0)));
  }

  /** @param {any} event @param {number} at @param {string} key @returns {Row} */
  function row(event, at, key) {
    const path = ["events", at];
    const action = actionOf(event);
    const choose = make(
      "select",
      {
        id: `event-${at}-action`,
        "aria-label": `Event ${at + 1}: action`,
        change: () =>
          form.change([
            {
              path,
              value: { at: events()[at]?.at, [choose.value]: model.properties[choose.value].beginning },
            },
          ]),
      },
      ...actions.map((name) => make("option", { value: name, selected: name === action }, name)),
    );
    const about = action ? schema.option(form.root, model.properties[action]) : null;
    const fields = [
      field(form, [...path, "at"], model.properties.at, { bare: true, label: "At" }),
      ...(about
        ? [
            field(
              form,
              [...path, action],
              { ...model.properties[action], anyOf: about.arms },
              {
                bare: true,
                label: about.arms[0].properties ? "" : "Node or value",
                suggestions: nodes(form),
              },
            ),
          ]
        : []),
      ...furtherOf(event).map((name) => field(form, [...path, name], model.properties[name], { bare: true })),
    ];
    const wrong = make("p", { class: "problem", role: "alert", hidden: true });
    const remove = make(
      "button",
      {
        type: "button",
        class: "quiet",
        "aria-label": `Remove event ${at + 1}`,
        click: () => (form.change([{ path, remove: true }]), add.focus()),
      },
      "Remove",
    );
    const element = make(
      "li",
      { class: "row event", "data-path": path.join(".") },
      make(
        "div",
        { class: "event-fields" },
        fields[0].element,
        make(
          "div",
          { class: "option" },
          make(
            "div",
            { class: "named" },
            make("label", { for: choose.id, title: model.properties[action]?.description }, "Action"),
          ),
          choose,
        ),
        ...fields.slice(1).map((each) => each.element),
      ),
      remove,
      wrong,
    );
    return {
      key,
      element,
      update() {
        for (const each of fields) each.update();
        showErrors(wrong, form.errors(path, true));
      },
    };
  }

  /** Rows before the first change stay: one that is replaced while it is clicked gets no click. */
  function redraw() {
    const keys = events().map((event) => JSON.stringify([actionOf(event), ...furtherOf(event)]));
    let kept = 0;
    while (kept < Math.min(rows.length, keys.length) && rows[kept].key === keys[kept]) kept++;
    for (const each of rows.slice(kept)) each.element.remove();
    const added = keys.slice(kept).map((key, at) => row(events()[kept + at], kept + at, key));
    place.append(...added.map((each) => each.element));
    rows = [...rows.slice(0, kept), ...added];
  }

  return {
    element: make("div", { class: "option", "data-path": "events" }, picture, place, add, error),
    update() {
      redraw();
      for (const each of rows) each.update();
      repaint();
      showErrors(error, form.errors(["events"], true));
    },
  };
}

/**
 * @param {schema.Node} root
 * @param {schema.Node} model
 * @param {any} event
 * @param {string} action
 * @returns {Shown}
 */
function shown(root, model, event, action) {
  const value = event?.[action];
  const about = model.properties[action];
  // Of several options, the one that must be given names the node, or says what happens.
  const first = about && schema.option(root, about).arms[0].required?.[0];
  const node = String((typeof value === "object" && value ? value[first] : value) ?? "");
  return { at: Number(event?.at) || 0, outage: about?.outage ?? "", node, text: `${action} ${node}`.trim() };
}

/** Names that events may use. @param {Form} form */
function nodes(form) {
  const processes = Number(form.value(["lab", "server_processes"])) || 1;
  return [
    "switch",
    "controller",
    "client",
    "coordinator",
    ...Array.from({ length: Math.min(processes, 8) }, (_, at) => `servers-${at}`),
    "spine-0",
    "leaf-0",
  ];
}

/** @param {{ width: number, warmup: number, duration: number, events: Shown[], shift: any }} look */
function paint({ width, warmup, duration, events, shift }) {
  const whole = warmup + duration || 1;
  const x = (/** @type {number} */ at) => (width * (at + warmup)) / whole;
  const inside = (/** @type {number} */ at) => Math.min(width, Math.max(0, x(at)));
  const top = 48;
  const bar = 20;
  const rect = (/** @type {number} */ from, /** @type {number} */ to, /** @type {string} */ kind) =>
    draw("rect", { x: inside(from), y: top, width: Math.max(2, inside(to) - inside(from)), height: bar, class: kind });
  const sorted = [...events].sort((a, b) => a.at - b.at);
  const outages = sorted
    .filter((each) => each.outage === "begins")
    .map((each) => {
      const end = sorted.find((other) => other.outage === "ends" && other.node === each.node && other.at >= each.at);
      return rect(each.at, end?.at ?? duration, "outage");
    });
  const every = typeof shift?.every === "number" && shift.every > 0 ? shift.every : shift ? 10 : 0;
  const shifts = every
    ? Array.from({ length: Math.min(500, Math.ceil(duration / every) - 1) }, (_, at) =>
        draw("line", { x1: x(every * (at + 1)), x2: x(every * (at + 1)), y1: top, y2: top + bar, class: "shift" }),
      )
    : [];
  const marks = sorted.map((each, at) => {
    const place = inside(each.at);
    const level = LEVELS[at % LEVELS.length];
    const right = place > 0.75 * width;
    return draw(
      "g",
      { class: "mark" },
      draw("line", { x1: place, x2: place, y1: level, y2: top + bar }),
      draw(
        "text",
        { x: right ? place - 4 : place + 4, y: level, "text-anchor": right ? "end" : "start" },
        `${each.at} s ${each.text}`,
      ),
    );
  });
  const label = [
    `warm-up of ${warmup} s`,
    `measured part of ${duration} s`,
    every ? `a popularity shift every ${every} s` : "",
    ...sorted.map((each) => `${each.text} at ${each.at} s`),
  ]
    .filter(Boolean)
    .join("; ");
  const tick = (/** @type {number} */ at, /** @type {string} */ anchor) =>
    draw("text", { x: x(at), y: top + bar + 15, "text-anchor": anchor, class: "tick" }, `${at} s`);
  return draw(
    "svg",
    { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img", "aria-label": `Timeline: ${label}` },
    warmup > 0 && rect(-warmup, 0, "warmup"),
    rect(0, duration, "measured"),
    ...outages,
    ...shifts,
    warmup > 0 && x(0) > 90 && draw("text", { x: 6, y: top + 14, class: "name" }, "warm-up"),
    draw("text", { x: x(0) + 6, y: top + 14, class: "name" }, "measured"),
    warmup > 0 && tick(-warmup, "start"),
    tick(0, "middle"),
    tick(duration, "end"),
    ...marks,
  );
}
