/* Constants and headers of docs/internals/wire-format.md that only write-through caches use. */

const bit<8> OP_UPDATE = 0x10;
const bit<8> OP_UPDATE_REPLY = 0x11;
const bit<8> OP_INVALIDATE = 0x12;
const bit<8> OP_INVALIDATE_REPLY = 0x13;
const bit<8> OP_STATS = 0x30;
const bit<8> OP_STATS_REPLY = 0x31;
const bit<8> OP_EPOCH = 0x32;
const bit<8> OP_EPOCH_REPLY = 0x33;

const bit<4> OPS_OF_CONTROLLER = 0x2; // op[7:4]: between controller and server

const bit<8> STATUS_NOT_CACHED = 3;

const bit<16> CACHE_METADATA_BYTES = 9;

/* The header with what the switch knows about a cached key. */
header cache_metadata_t {
    bit<32> generation;
    bit<32> version;
    bit<8>  bitmap;
}

#define CACHE_METADATA_FIELDS hdr.cache_metadata.generation, hdr.cache_metadata.version, \
                              hdr.cache_metadata.bitmap
