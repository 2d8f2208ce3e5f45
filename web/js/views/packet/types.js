// Names of the API's types that this view uses. Requests and answers have types of their own in the OpenAPI document.

/** @typedef {import("../../core/api.js").Schemas} Schemas */
/** @typedef {Schemas["TraceRequestInput"]} TraceRequest */
/** @typedef {Schemas["PacketInput"]} Packet */
/** @typedef {Schemas["EntryInput"]} Entry */
/** @typedef {Schemas["DefaultActionInput"]} DefaultAction */
/** @typedef {Schemas["ReplicaInput"]} Replica */
/** @typedef {Schemas["RegisterCell"]} Cell */
/** @typedef {Schemas["ProgramCheck"]} CheckResult */
/** A request: what its model leaves to defaults may be left out. @typedef {Partial<Omit<TraceRequest, "setup" | "packets">> & { packets: Packet[], setup: Setup }} Body */
/**
 * A set-up with all its lists.
 *
 * @typedef {object} Setup
 * @property {Entry[]} entries
 * @property {DefaultAction[]} defaults
 * @property {Cell[]} registers
 * @property {{ group: number, replicas: Replica[] }[]} multicast_groups
 * @property {{ session: number, replicas: Replica[], packet_length: number }[]} clone_sessions
 */

export {};
