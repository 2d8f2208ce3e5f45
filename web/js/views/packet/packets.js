// The packets to send: messages of netkv field by field, or frames in hex.

import { fill, make } from "../../core/dom.js";

/** @typedef {import("../../core/api.js").Schemas} Schemas */
/** @typedef {import("./types.js").Packet} Packet */

const MAX_PACKETS = 64;
const OPERATIONS = ["GET", "PUT", "DELETE", "GET_REPLY", "PUT_REPLY", "DELETE_REPLY"];

/**
 * @param {() => void} changed
 * @param {(name: string) => Packet[]} packetsOf packets of an example of the program
 */
export function packetEditor(changed, packetsOf) {
  const list = make("div", { class: "packets" });
  const add = make("select", { id: "add-packet", "aria-label": "Add a packet", change: () => append() });
  const operations = make("datalist", { id: "operations" }, ...OPERATIONS.map((value) => make("option", { value })));
  const keys = make("datalist", { id: "known-keys" });
  const ports = make("datalist", { id: "known-ports" });
  const element = make("div", { class: "packet-editor" }, list, add, operations, keys, ports);
  /** @type {Packet[]} */
  let packets = [];

  function append() {
    const [what, name] = add.value.split(" ");
    const last = packets.at(-1);
    if (packets.length >= MAX_PACKETS) return;
    if (what === "example") packets.push(...structuredClone(packetsOf(name)));
    else if (what === "copy" && last) packets.push(structuredClone(last));
    else if (what === "message") packets.push({ port: 1, title: "", message: newMessage() });
    else if (what === "frame") packets.push({ port: 1, title: "", frame: "ffffffffffff 02000a010001 0800" });
    add.value = "";
    rebuilt();
  }

  function rebuilt() {
    changed();
    render();
  }

  function render() {
    fill(list, ...packets.map(one));
  }

  /** @param {Packet} packet @param {number} index */
  function one(packet, index) {
    const at = `packets.${index}`;
    const kind = make(
      "select",
      { change: () => convert(kind.value) },
      make("option", { value: "message", selected: Boolean(packet.message) }, "message of netkv"),
      make("option", { value: "frame", selected: !packet.message }, "bytes in hex"),
    );
    /** @param {string} to */
    function convert(to) {
      if (to === "message") {
        packet.message = newMessage();
        delete packet.frame;
      } else {
        packet.frame = arrivals[index] ?? "";
        delete packet.message;
      }
      rebuilt();
    }
    const message = packet.message;
    const fields = message
      ? [
          text("Operation", `${at}.message.op`, message.op, (value) => (message.op = value), {
            list: "operations",
            size: 9,
          }),
          text("Key", `${at}.message.key`, message.key, (value) => (message.key = value), {
            list: "known-keys",
            size: 36,
            title: "A text of up to 16 bytes, 0x… with 32 digits, or #0 for the first key of a load",
          }),
          text("Value", `${at}.message.value`, message.value ?? "", (value) => (message.value = value), {
            size: 18,
            title: "A text, or bytes as 0x…",
          }),
          text("From", `${at}.message.source`, message.source ?? "client-1", (value) => (message.source = value), {
            size: 10,
            title: "A host such as client-1, or an IPv4 address",
          }),
          text(
            "To",
            `${at}.message.destination`,
            message.destination ?? "service",
            (value) => (message.destination = value),
            { size: 10, title: "A host, an IPv4 address, or ‘service’: the owner of the key" },
          ),
          text(
            "Request",
            `${at}.message.request`,
            String(message.request ?? 1),
            (value) => (message.request = whole(value)),
            { size: 8 },
          ),
          text("Status", `${at}.message.status`, message.status ?? "OK", (value) => (message.status = value), {
            size: 6,
          }),
        ]
      : [frame(packet, at)];
    return make(
      "fieldset",
      { class: "packet", "data-field": at },
      make("legend", {}, `Packet ${index + 1}${packet.title ? `: ${packet.title}` : ""}`),
      make("label", {}, "As", kind),
      text("Port", `${at}.port`, String(packet.port), (value) => (packet.port = whole(value)), {
        list: "known-ports",
        size: 5,
      }),
      ...fields,
      packets.length > 1 &&
        make(
          "button",
          {
            type: "button",
            class: "quiet",
            "aria-label": `Remove packet ${index + 1}`,
            click: () => (packets.splice(index, 1), rebuilt()),
          },
          "✕ Remove",
        ),
    );
  }

  /** @param {Packet} packet @param {string} at */
  function frame(packet, at) {
    const input = make("textarea", {
      rows: 3,
      spellcheck: "false",
      "data-field": `${at}.frame`,
      change: () => ((packet.frame = input.value), changed()),
    });
    input.value = packet.frame ?? "";
    return make("label", { class: "wide-field" }, "Frame", input);
  }

  /** @param {string} label @param {string} field @param {string} value @param {(value: string) => unknown} set @param {Record<string, unknown>} [attributes] */
  function text(label, field, value, set, attributes = {}) {
    const input = make("input", {
      ...attributes,
      value,
      spellcheck: "false",
      "data-field": field,
      change: () => (set(input.value), changed()),
    });
    return make("label", {}, label, input);
  }

  /** Frames of the newest trace, for a message that becomes bytes. @type {string[]} */
  let arrivals = [];
  return {
    element,
    /** @param {Packet[]} next @param {Schemas["TraceExample"][]} examples */
    set(next, examples) {
      packets = next;
      const cached = [...new Set(examples.flatMap((each) => each.cached_keys))];
      this.offerKeys(cached, "cached in the example");
      fill(
        add,
        make("option", { value: "" }, "Add a packet …"),
        make("option", { value: "copy" }, "the last one again"),
        ...examples.map((each) => make("option", { value: `example ${each.name}` }, each.title)),
        make("option", { value: "message" }, "another message of netkv"),
        make("option", { value: "frame" }, "bytes in hex"),
      );
      render();
    },
    /** @param {string[]} found @param {string} why */
    offerKeys(found, why) {
      fill(keys, ...found.map((value) => make("option", { value }, why)));
    },
    /** @param {{ port: number, name: string }[]} found */
    offerPorts(found) {
      fill(ports, ...found.map(({ port, name }) => make("option", { value: port }, name)));
    },
    /** @param {string[]} frames */
    arrived(frames) {
      arrivals = frames;
    },
  };
}

/** A read of the first key of a load. @returns {NonNullable<Packet["message"]>} */
export function newMessage() {
  return {
    op: "GET",
    key: "#0",
    source: "client-1",
    destination: "service",
    request: 1,
    status: "OK",
    value: "",
    cache_hit: false,
    upper: false,
  };
}

/** @param {string} text */
function whole(text) {
  return /^\d+$/.test(text.trim()) ? Number(text) : /** @type {number} */ (/** @type {unknown} */ (text));
}
