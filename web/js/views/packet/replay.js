// What follows from the steps of a packet: its passes through the switch, the headers at each step, which bytes of a
// frame belong to which field, and the values of registers before they were written.

/** @typedef {import("../../core/api.js").Schemas} Schemas */
/** @typedef {Schemas["Step"]} Step */
/** @typedef {Schemas["ProgramHeader"]} Header */
/** @typedef {{ name: string, bits: number, start: number }} PlacedField */
/** @typedef {{ header: string, start: number, bits: number, fields: PlacedField[] }} Segment a header in a frame, in bits */
/** @typedef {Map<string, { valid: boolean, fields: Map<string, string> }>} Headers */

/**
 * A pass through ingress or egress.
 *
 * @typedef {object} Pass
 * @property {string} pipeline `ingress` or `egress`
 * @property {number} port
 * @property {number | null} number of the pipeline, if the switch has several
 * @property {number} from the pass that it follows; -1: none
 * @property {"arrival" | "unicast" | "clone" | "multicast" | "recirculation" | "resubmission"} cause
 * @property {string} label of a branch
 * @property {boolean} parsed whether it begins with the parser
 * @property {number} first its first step
 * @property {number} last its last step
 * @property {Set<string>} blocks the blocks of the program that it went through
 * @property {"" | "transmitted" | "dropped"} end
 */

/**
 * The passes of a packet, in the order in which the switch makes them.
 *
 * The switch has a queue before ingress and one before egress; what enters them follows from the steps.
 *
 * @param {Step[]} steps
 * @returns {Pass[]}
 */
export function passesOf(steps) {
  /** @type {Pass[]} */
  const passes = [];
  /** @typedef {Pick<Pass, "from" | "cause" | "label" | "parsed">} Waiting */
  /** @type {Waiting[]} */
  const ingress = [];
  /** @type {Waiting[]} */
  const egress = [];
  /** Whether the current pass goes on to egress without a step that says so. */
  let goesOn = false;
  /** @param {Waiting[]} queue @param {Partial<Waiting>} waiting @param {number} [copies] */
  const enqueue = (queue, waiting, copies = 1) => {
    for (let each = 0; each < copies; each++)
      queue.push({ from: passes.length - 1, cause: "unicast", label: "", parsed: false, ...waiting });
  };
  steps.forEach((step, at) => {
    const pass = passes.at(-1);
    switch (step.kind) {
      case "pass": {
        if (goesOn) enqueue(egress, {});
        const pipeline = step.pipeline ?? "ingress";
        const found = (pipeline === "ingress" ? ingress : egress).shift();
        // A clone session may have several replicas: further passes have the cause of the one before.
        const again = passes.at(-1);
        const origin =
          found ??
          (again && pipeline === "egress"
            ? { from: again.from, cause: again.cause, label: again.label, parsed: again.parsed }
            : { from: -1, cause: /** @type {const} */ ("arrival"), label: "", parsed: pipeline === "ingress" });
        passes.push({
          ...origin,
          pipeline,
          port: step.port ?? 0,
          number: step.number ?? null,
          first: at,
          last: at,
          blocks: new Set(),
          end: "",
        });
        goesOn = pipeline === "ingress";
        return;
      }
      case "clone":
        if (step.known)
          enqueue(egress, {
            cause: "clone",
            label: `clone to session ${step.session}`,
            parsed: step.pipeline === "ingress",
          });
        break;
      case "multicast":
        goesOn = false;
        enqueue(egress, { cause: "multicast", label: `copy of group ${step.group}` }, Math.min(step.copies ?? 0, 512));
        break;
      case "resubmit":
        goesOn = false;
        enqueue(ingress, { cause: "resubmission", label: "resubmitted", parsed: true });
        break;
      case "recirculate":
        enqueue(ingress, { cause: "recirculation", label: "recirculated", parsed: true });
        break;
      case "drop":
      case "loop_cut":
        goesOn = false;
        if (pass) pass.end = "dropped";
        break;
      case "transmitted":
        if (pass) pass.end = "transmitted";
        break;
    }
    if (!pass) return;
    pass.last = at;
    if (step.block) pass.blocks.add(step.block);
  });
  return passes;
}

/**
 * The pass that a step belongs to; -1 before the first.
 *
 * @param {Pass[]} passes
 * @param {number} step
 */
export function passOf(passes, step) {
  return passes.findLastIndex((pass) => pass.first <= step);
}

/**
 * The headers after a step.
 *
 * @param {Step[]} steps
 * @param {Pass[]} passes
 * @param {number} until
 * @returns {Headers}
 */
export function headersAt(steps, passes, until) {
  /** @type {Headers[]} */
  const ends = [];
  /** @type {Headers} */
  let headers = new Map();
  let number = -1;
  for (let at = 0; at <= until && at < steps.length; at++) {
    const step = steps[at];
    if (step.kind === "pass") {
      if (number >= 0) ends[number] = headers;
      number += 1;
      const { from, parsed } = passes[number];
      headers = parsed || from < 0 ? new Map() : copied(ends[from]);
    } else apply(headers, step);
  }
  return headers;
}

/** @param {Headers} headers @returns {Headers} */
function copied(headers) {
  return new Map([...headers].map(([name, { valid, fields }]) => [name, { valid, fields: new Map(fields) }]));
}

/** @param {Headers} headers @param {Step} step */
function apply(headers, step) {
  if (step.kind === "extract")
    headers.set(step.header ?? "", {
      valid: true,
      fields: new Map((step.fields ?? []).map(({ name, value }) => [name, value])),
    });
  else if (step.kind === "validity") {
    const name = step.header ?? "";
    headers.set(name, { valid: Boolean(step.valid), fields: headers.get(name)?.fields ?? new Map() });
  } else if (
    (step.kind === "assign" || step.kind === "computed" || step.kind === "register_read") &&
    step.name &&
    step.value
  ) {
    const dot = step.name.lastIndexOf(".");
    headers.get(step.name.slice(0, dot))?.fields.set(step.name.slice(dot + 1), step.value);
  }
}

/**
 * Where the headers of the frame that arrives are, as the parser found them in its first pass up to a step.
 *
 * @param {Step[]} steps
 * @param {Pass[]} passes
 * @param {Header[]} known
 * @param {number} [until]
 * @returns {Segment[]}
 */
export function arrivalLayout(steps, passes, known, until = Infinity) {
  const pass = passes[0];
  if (!pass) return [];
  /** @type {Segment[]} */
  const segments = [];
  let start = 0;
  for (const step of steps.slice(pass.first, Math.min(until, pass.last) + 1)) {
    const skipped = /^advance to bit (\d+)$/.exec(step.operation ?? "");
    if (skipped) start = Number(skipped[1]);
    if (step.kind !== "extract") continue;
    const name = step.header ?? "";
    const [segment] = placed(
      [
        [
          name,
          widths(known, name) ??
            (step.fields ?? []).map((field) => ({ name: field.name, bits: 4 * (field.value.length - 2) })),
        ],
      ],
      start,
    );
    segments.push(segment);
    start += segment.bits;
  }
  return segments;
}

/**
 * Where the headers of each frame that leaves are, as the deparser wrote them.
 *
 * @param {Step[]} steps
 * @param {Pass[]} passes
 * @param {Header[]} known
 * @returns {Segment[][]}
 */
export function departureLayouts(steps, passes, known) {
  const layouts = [];
  for (const pass of passes) {
    if (pass.end !== "transmitted") continue;
    const emitted = steps.slice(pass.first, pass.last + 1).filter((step) => step.kind === "emit");
    const stacks = emitted.some((step) => !widths(known, step.header ?? ""));
    const headers = stacks ? headersAt(steps, passes, pass.last) : null;
    /** @type {[string, { name: string, bits: number }[]][]} */
    const parts = [];
    for (const { header = "" } of emitted) {
      const name = header ?? "";
      const fields = widths(known, name);
      if (fields) parts.push([name, fields]);
      // A stack: its valid elements.
      else
        for (const each of known)
          if (each.name.startsWith(`${name}[`) && headers?.get(each.name)?.valid) parts.push([each.name, each.fields]);
    }
    layouts.push(placed(parts));
  }
  return layouts;
}

/** @param {Header[]} known @param {string} name */
function widths(known, name) {
  return known.find((each) => each.name === name)?.fields ?? null;
}

/** @param {[string, { name: string, bits: number }[]][]} headers @param {number} [start] @returns {Segment[]} */
function placed(headers, start = 0) {
  return headers.map(([header, fields]) => {
    const begin = start;
    const parts = fields.map(({ name, bits }) => {
      const field = { name, bits, start };
      start += bits;
      return field;
    });
    return { header, start: begin, bits: start - begin, fields: parts };
  });
}

/**
 * The values of cells of registers before each write, for all packets: step → value. Cells that neither set-up nor
 * packets have written are 0.
 *
 * @param {Schemas["TracedPacket"][]} packets
 * @param {import("./types.js").Cell[]} cells those of the set-up
 * @returns {Map<Step, string>}
 */
export function valuesBefore(packets, cells) {
  const initial = new Map(cells.map((cell) => [`${cell.register}[${cell.index}]`, String(cell.value)]));
  /** @type {Map<string, string>} */
  const values = new Map();
  const before = new Map();
  for (const { steps } of packets) {
    let pipeline = 0;
    for (const step of steps) {
      if (step.kind === "pass") pipeline = step.number ?? 0;
      if ((step.kind !== "register_write" && step.kind !== "register_read") || step.value == null) continue;
      const cell = `${step.register}[${step.index}]`;
      const place = `${pipeline} ${cell}`;
      if (step.kind === "register_write") before.set(step, values.get(place) ?? initial.get(cell) ?? "0x0");
      values.set(place, step.value);
    }
  }
  return before;
}

/**
 * Changes of registers by all packets: cells whose value differs from that of the set-up.
 *
 * @param {import("./types.js").Cell[]} cells those of the set-up
 * @param {import("./types.js").Cell[]} after
 */
export function changedCells(cells, after) {
  const before = new Map(cells.map((cell) => [`${cell.register}[${cell.index}]`, cell]));
  /** @type {{ register: string, index: number, before: string, after: string }[]} */
  const changes = [];
  for (const cell of after) {
    const name = `${cell.register}[${cell.index}]`;
    const old = before.get(name)?.value ?? 0;
    before.delete(name);
    if (big(old) !== big(cell.value))
      changes.push({ register: cell.register, index: cell.index, before: String(old), after: String(cell.value) });
  }
  // After the last packet, cells that are 0 are left out.
  for (const cell of before.values())
    if (big(cell.value))
      changes.push({ register: cell.register, index: cell.index, before: String(cell.value), after: "0x0" });
  return changes;
}

/** A number of a program; 0 if it is not one. @param {string | number} value */
export function big(value) {
  try {
    return BigInt(value);
  } catch {
    return 0n;
  }
}
