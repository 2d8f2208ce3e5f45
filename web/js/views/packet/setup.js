// The set-up: entries of tables, default actions, cells of registers, groups and sessions, as tables that can be edited.

import { fill, make, scrolling, table } from "../../core/dom.js";
import { count } from "../../core/format.js";
import { hexOfText, meaning, shortName } from "./words.js";

/** @typedef {import("../../core/api.js").Schemas} Schemas */
/** @typedef {import("./types.js").Setup} Setup */
/** @typedef {Schemas["ProgramInterface"]} Program */

const MAX_ROWS = 200;
/** Fields from this width on are keys of records: a text in them is written as its bytes. */
const TEXT_BITS = 64;
const NUMBER = /^(0x[0-9a-f]+|\d+|[0-9a-f]{2}(:[0-9a-f]{2}){5}|\d+\.\d+\.\d+\.\d+)$/i;

/** A set-up with all its lists. @param {Schemas["SetupInput"] | Schemas["Setup"] | undefined} setup @returns {Setup} */
export function complete(setup) {
  return /** @type {Setup} */ ({
    entries: [],
    defaults: [],
    registers: [],
    multicast_groups: [],
    clone_sessions: [],
    ...structuredClone(setup ?? {}),
  });
}

/** @param {Setup} setup */
export function summary(setup) {
  const parts = [
    [setup.entries.length, "entry", "entries"],
    [setup.defaults.length, "default action", "default actions"],
    [setup.registers.length, "register cell", "register cells"],
    [setup.multicast_groups.length, "multicast group", "multicast groups"],
    [setup.clone_sessions.length, "clone session", "clone sessions"],
  ].filter(([number]) => number);
  return parts.length
    ? parts.map(([number, one, many]) => `${count(Number(number))} ${number === 1 ? one : many}`).join(", ")
    : "empty";
}

/**
 * @param {() => void} changed called after each edit
 */
export function setupEditor(changed) {
  const element = make("div", { class: "setup" });
  /** @type {Setup} */
  let setup = complete(undefined);
  /** @type {Program | null} */
  let program = null;
  /** Names of the parts that are open. @type {Set<string>} */
  const open = new Set();

  function render() {
    const known = program;
    if (!known) return fill(element);
    const tables = known.tables.filter(
      (each) => !each.constant && (each.keys.length || setup.entries.some((entry) => entry.table === each.name)),
    );
    const names = [...new Set(setup.registers.map((cell) => cell.register))].sort();
    const others = known.registers.map((each) => each.name).filter((name) => !names.includes(name));
    fill(
      element,
      ...tables.map((each) =>
        part(
          `table ${each.name}`,
          shortName(each.name),
          setup.entries.filter((entry) => entry.table === each.name).length,
          "entry",
          "entries",
          () => entries(each, known),
        ),
      ),
      part("defaults", "Default actions", setup.defaults.length, "change", "changes", () => defaults(known)),
      ...names.map((name) =>
        part(
          `register ${name}`,
          shortName(name),
          setup.registers.filter((cell) => cell.register === name).length,
          "cell",
          "cells",
          () => cells(name, known),
        ),
      ),
      others.length > 0 && addRegister(others),
      part("groups", "Multicast groups", setup.multicast_groups.length, "group", "groups", groups),
      part("sessions", "Clone sessions", setup.clone_sessions.length, "session", "sessions", sessions),
    );
  }

  /** @param {string} name @param {string} title @param {number} size @param {string} one @param {string} many @param {() => Node} content */
  function part(name, title, size, one, many, content) {
    const place = make("div", { class: "part" });
    const details = make(
      "details",
      { class: "setup-part", "data-part": name, open: open.has(name), toggle: () => toggled() },
      make(
        "summary",
        { title: name },
        title,
        " ",
        make("span", { class: "hint" }, `${count(size)} ${size === 1 ? one : many}`),
      ),
      place,
    );
    if (open.has(name)) place.append(content());
    function toggled() {
      if (details.open) open.add(name);
      else open.delete(name);
      if (details.open && !place.firstChild) place.append(content());
    }
    return details;
  }

  function edited() {
    changed();
  }

  function rebuilt() {
    changed();
    render();
  }

  /** @param {Schemas["ProgramTable"]} known @param {Program} interface_ */
  function entries(known, interface_) {
    const all = setup.entries
      .map((entry, index) => ({ entry, index }))
      .filter(({ entry }) => entry.table === known.name);
    const ordered = known.keys.some((key) => key.match !== "exact" && key.match !== "lpm");
    const rows = all.slice(0, MAX_ROWS).map(({ entry, index }) => {
      const at = `setup.entries.${index}`;
      const keys = known.keys.map((key) =>
        value(
          `${key.name} of entry ${index + 1} of ${known.name}`,
          String((entry.match ?? {})[key.name] ?? ""),
          key,
          (text) => {
            entry.match = { ...entry.match };
            if (text) entry.match[key.name] = text;
            else delete entry.match[key.name];
          },
        ),
      );
      const action = select(`Action of entry ${index + 1} of ${known.name}`, known.actions, entry.action, (name) => {
        entry.action = name;
        entry.params = zeros(interface_, name);
        rebuilt();
      });
      const priority = ordered
        ? [
            plain(
              `Priority of entry ${index + 1} of ${known.name}`,
              String(entry.priority ?? 0),
              (text) => (entry.priority = whole(text)),
            ),
          ]
        : [];
      const remove = make(
        "button",
        {
          type: "button",
          class: "quiet",
          "aria-label": `Remove entry ${index + 1} of ${known.name}`,
          click: () => (setup.entries.splice(index, 1), rebuilt()),
        },
        "✕",
      );
      return row(at, [
        ...keys,
        action,
        params(interface_, entry.action, (entry.params ??= {}), `entry ${index + 1} of ${known.name}`),
        ...priority,
        remove,
      ]);
    });
    const add = make(
      "button",
      {
        type: "button",
        class: "quiet",
        "data-add": known.name,
        click: () => (
          setup.entries.push({
            table: known.name,
            match: Object.fromEntries(
              known.keys.filter((key) => key.match === "exact").map((key) => [key.name, "0x0"]),
            ),
            action: known.actions[0],
            params: zeros(interface_, known.actions[0]),
            priority: ordered ? 1 : 0,
          }),
          rebuilt()
        ),
      },
      "Add an entry",
    );
    return make(
      "div",
      {},
      scrolling(
        "Entries of the table",
        table(
          [
            ...known.keys.map((key) => `${key.name} (${key.match}, ${key.bits} bits)`),
            "action",
            "parameters",
            ...(ordered ? ["priority"] : []),
            "",
          ],
          rows,
        ),
      ),
      rest(all.length),
      add,
    );
  }

  /** @param {Program} interface_ */
  function defaults(interface_) {
    const rows = setup.defaults.map((each, index) => {
      const known = interface_.tables.find((it) => it.name === each.table);
      const which = select(
        `Table of default action ${index + 1}`,
        interface_.tables.map((it) => it.name),
        each.table,
        (name) => {
          each.table = name;
          each.action = interface_.tables.find((it) => it.name === name)?.default_action ?? "";
          each.params = zeros(interface_, each.action);
          rebuilt();
        },
      );
      const action = select(`Default action ${index + 1}`, known?.actions ?? [each.action], each.action, (name) => {
        each.action = name;
        each.params = zeros(interface_, name);
        rebuilt();
      });
      const remove = make(
        "button",
        {
          type: "button",
          class: "quiet",
          "aria-label": `Remove default action ${index + 1}`,
          click: () => (setup.defaults.splice(index, 1), rebuilt()),
        },
        "✕",
      );
      return row(`setup.defaults.${index}`, [
        which,
        action,
        params(interface_, each.action, (each.params ??= {}), `default action ${index + 1}`),
        remove,
      ]);
    });
    const first = interface_.tables[0];
    const add =
      first &&
      make(
        "button",
        {
          type: "button",
          class: "quiet",
          click: () => (
            setup.defaults.push({
              table: first.name,
              action: first.default_action,
              params: zeros(interface_, first.default_action),
            }),
            rebuilt()
          ),
        },
        "Change a default action",
      );
    return make("div", {}, scrolling("Default actions", table(["table", "action", "parameters", ""], rows)), add);
  }

  /** @param {string} name @param {Program} interface_ */
  function cells(name, interface_) {
    const bits = interface_.registers.find((each) => each.name === name)?.bits ?? null;
    const all = setup.registers.map((cell, index) => ({ cell, index })).filter(({ cell }) => cell.register === name);
    const rows = all.slice(0, MAX_ROWS).map(({ cell, index }) => {
      const number = plain(
        `Index of cell ${index + 1} of ${name}`,
        String(cell.index),
        (text) => (cell.index = whole(text)),
      );
      const content = value(
        `Value of cell ${cell.index} of ${name}`,
        String(cell.value),
        { name: "value", bits: bits ?? 0, match: null },
        (text) => (cell.value = text || "0x0"),
      );
      const remove = make(
        "button",
        {
          type: "button",
          class: "quiet",
          "aria-label": `Remove cell ${cell.index} of ${name}`,
          click: () => (setup.registers.splice(index, 1), rebuilt()),
        },
        "✕",
      );
      return row(`setup.registers.${index}`, [number, content, remove]);
    });
    const add = make(
      "button",
      {
        type: "button",
        class: "quiet",
        click: () => (setup.registers.push({ register: name, index: 0, value: "0x0" }), rebuilt()),
      },
      "Add a cell",
    );
    return make(
      "div",
      {},
      scrolling("Cells of the register", table(["index", bits == null ? "value" : `value (${bits} bits)`, ""], rows)),
      rest(all.length),
      add,
    );
  }

  /** @param {string[]} names */
  function addRegister(names) {
    const choice = make(
      "select",
      { "aria-label": "Register to add", change: () => add() },
      make("option", { value: "" }, "Set a cell of another register …"),
      ...names.map((name) => make("option", { value: name }, name)),
    );
    function add() {
      if (!choice.value) return;
      setup.registers.push({ register: choice.value, index: 0, value: "0x0" });
      open.add(`register ${choice.value}`);
      rebuilt();
    }
    return make("div", { class: "setup-part" }, choice);
  }

  function groups() {
    const rows = setup.multicast_groups.map((group, index) =>
      row(`setup.multicast_groups.${index}`, [
        plain(`Multicast group ${index + 1}`, String(group.group), (text) => (group.group = whole(text))),
        plain(
          `Ports of multicast group ${index + 1}`,
          replicas(group.replicas),
          (text) => (group.replicas = replicasOf(text)),
        ),
        make(
          "button",
          {
            type: "button",
            class: "quiet",
            "aria-label": `Remove multicast group ${index + 1}`,
            click: () => (setup.multicast_groups.splice(index, 1), rebuilt()),
          },
          "✕",
        ),
      ]),
    );
    return make(
      "div",
      {},
      table(["group", "ports (PORT or PORT/INSTANCE, with commas)", ""], rows),
      make(
        "button",
        {
          type: "button",
          class: "quiet",
          click: () => (
            setup.multicast_groups.push({
              group: setup.multicast_groups.length + 1,
              replicas: [{ port: 1, instance: 0 }],
            }),
            rebuilt()
          ),
        },
        "Add a group",
      ),
    );
  }

  function sessions() {
    const rows = setup.clone_sessions.map((session, index) =>
      row(`setup.clone_sessions.${index}`, [
        plain(`Clone session ${index + 1}`, String(session.session), (text) => (session.session = whole(text))),
        plain(
          `Ports of clone session ${index + 1}`,
          replicas(session.replicas),
          (text) => (session.replicas = replicasOf(text)),
        ),
        make(
          "button",
          {
            type: "button",
            class: "quiet",
            "aria-label": `Remove clone session ${index + 1}`,
            click: () => (setup.clone_sessions.splice(index, 1), rebuilt()),
          },
          "✕",
        ),
      ]),
    );
    return make(
      "div",
      {},
      table(["session", "ports (PORT or PORT/INSTANCE, with commas)", ""], rows),
      make(
        "button",
        {
          type: "button",
          class: "quiet",
          click: () => (
            setup.clone_sessions.push({
              session: setup.clone_sessions.length + 1,
              replicas: [{ port: 1, instance: 0 }],
              packet_length: 0,
            }),
            rebuilt()
          ),
        },
        "Add a session",
      ),
    );
  }

  /** @param {Program} interface_ @param {string} action @param {Record<string, string | number>} values @param {string} of */
  function params(interface_, action, values, of) {
    const known =
      interface_.actions.find((each) => each.name === action)?.parameters ??
      Object.keys(values).map((name) => ({ name, bits: 0, match: null }));
    return make(
      "div",
      { class: "params" },
      ...known.map((each) =>
        make(
          "label",
          {},
          `${each.name} `,
          value(
            `${each.name} of ${of}`,
            String(values[each.name] ?? ""),
            each,
            (text) => (values[each.name] = text || "0x0"),
          ),
        ),
      ),
    );
  }

  /** @param {string} label @param {string} text @param {{ name: string, bits: number, match?: string | null }} field @param {(text: string) => unknown} set */
  function value(label, text, field, set) {
    const width = Math.min(36, Math.max(6, text.length + 1));
    const input = make("input", {
      "aria-label": label,
      value: text,
      size: width,
      spellcheck: "false",
      title: meaning(text, field.bits || null, field.name),
      change: () => store(),
    });
    function store() {
      let found = input.value.trim();
      // A key as text.
      if (found && field.bits >= TEXT_BITS && (field.match === "exact" || field.match == null) && !NUMBER.test(found))
        found = hexOfText(found, field.bits) ?? found;
      input.value = found;
      input.title = meaning(found, field.bits || null, field.name);
      set(found);
      edited();
    }
    return input;
  }

  /** @param {string} label @param {string} text @param {(text: string) => unknown} set */
  function plain(label, text, set) {
    const input = make("input", {
      "aria-label": label,
      value: text,
      size: Math.max(6, text.length + 1),
      change: () => (set(input.value.trim()), edited()),
    });
    return input;
  }

  return {
    element,
    /** @param {Setup} next @param {Program} known */
    set(next, known) {
      setup = next;
      program = known;
      render();
    },
    /** Opens the part with a wrong field, so that it can be marked. @param {string} field */
    reveal(field) {
      const [, list, index] = field.split(".");
      const at = Number(index);
      const name = {
        entries: `table ${setup.entries[at]?.table}`,
        defaults: "defaults",
        registers: `register ${setup.registers[at]?.register}`,
        multicast_groups: "groups",
        clone_sessions: "sessions",
      }[list];
      if (!name) return;
      open.add(name);
      render();
    },
  };
}

/** @param {Program} program @param {string} action @returns {Record<string, string>} */
function zeros(program, action) {
  return Object.fromEntries(
    (program.actions.find((each) => each.name === action)?.parameters ?? []).map(({ name }) => [name, "0x0"]),
  );
}

/** @param {string} field @param {Node[]} cells */
function row(field, cells) {
  const [first, ...others] = cells;
  const cell = make("td", { "data-field": field }, first);
  return [cell, ...others];
}

/** @param {number} all */
function rest(all) {
  return all > MAX_ROWS
    ? make("p", { class: "hint" }, `${count(all - MAX_ROWS)} further rows are part of the set-up, and not shown.`)
    : "";
}

/** @param {string} label @param {string[]} choices @param {string} chosen @param {(name: string) => void} set */
function select(label, choices, chosen, set) {
  const all = choices.includes(chosen) ? choices : [chosen, ...choices];
  const element = make(
    "select",
    { "aria-label": label, change: () => set(element.value) },
    ...all.map((name) => make("option", { value: name, selected: name === chosen }, shortName(name))),
  );
  return element;
}

/** @param {string} text */
function whole(text) {
  // The server says what is wrong with anything else.
  return /^\d+$/.test(text) ? Number(text) : /** @type {number} */ (/** @type {unknown} */ (text));
}

/** @param {import("./types.js").Replica[]} list */
function replicas(list) {
  return list.map((each) => (each.instance ? `${each.port}/${each.instance}` : each.port)).join(", ");
}

/** @param {string} text @returns {import("./types.js").Replica[]} */
function replicasOf(text) {
  return text
    .split(",")
    .map((each) => each.trim())
    .filter(Boolean)
    .map((each) => {
      const [port, instance = "0"] = each.split("/");
      return { port: whole(port.trim()), instance: whole(instance.trim()) };
    });
}
