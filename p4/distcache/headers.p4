/* The load of the switch that has answered a read (docs/internals/wire-format.md). */

header load_t {
    bit<8>  layer; // 0: the last one, 1: the upper one
    bit<8>  number;
    bit<32> reads; // that it has answered in its statistics epoch
}

#define LOAD_FIELDS hdr.load.layer, hdr.load.number, hdr.load.reads
