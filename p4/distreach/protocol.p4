/* Constants of docs/internals/wire-format.md that only DistReach uses. */

/* Bits of a request's stamp between the switches of a chain. In reports about entries the same bits
 * have other meanings. */
const bit<8> BIT_STORED = 0x08;     // every switch so far has the write, or a newer one of the key
const bit<8> BIT_SUPERSEDED = 0x20; // a switch knows a newer write of the key
const bit<8> BIT_SEQUENCED = 0x40;  // the head of the chain has stamped the request
