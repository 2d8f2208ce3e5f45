/* Constants and headers of docs/internals/wire-format.md that only DistCache uses. */

const bit<8> FLAG_UPPER = 0x08; // about the copy in the upper layer
const bit<8> FLAG_LOAD = 0x10;  // the load of the switch that answered follows

const bit<4> OPS_OF_SERVERS = 0x1; // op[7:4]: between server and switch

const bit<16> LOAD_BYTES = 6;

/* The load of the switch that has answered a read. */
header load_t {
    bit<8>  layer; // 0: the last one, 1: the upper one
    bit<8>  number;
    bit<32> reads; // that it has answered in its statistics epoch
}

#define LOAD_FIELDS hdr.load.layer, hdr.load.number, hdr.load.reads
