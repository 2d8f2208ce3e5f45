/* Constants of docs/internals/wire-format.md that only DistCache uses. */

const bit<8> FLAG_UPPER = 0x08; // about the copy in the upper layer
const bit<8> FLAG_LOAD = 0x10;  // the load of the switch that answered follows

const bit<4> OPS_OF_SERVERS = 0x1; // op[7:4]: between server and switch

const bit<16> LOAD_BYTES = 6;
