/* Constants and headers of docs/internals/wire-format.md that only write-back caches use. */

const bit<8> OP_PUT_REPLY = 0x03;
const bit<8> OP_DELETE_REPLY = 0x05;
const bit<8> OP_FILL = 0x40;
const bit<8> OP_VALIDATE = 0x42;
const bit<8> OP_EVICT = 0x44;
const bit<8> OP_EVICT_REPLY = 0x45;
const bit<8> OP_LOAD = 0x46;
const bit<8> OP_LOAD_REPLY = 0x47;
const bit<8> OP_RETIRE = 0x48;
const bit<8> OP_COUNT = 0x4A;
const bit<8> OP_ORIGINAL = 0x4D;

const bit<8> OPS_OF_ENTRIES = 0x40; // to 0x4F: messages about an entry

const bit<8> FLAG_STAMPED = 0x04; // a version stamp follows
const bit<8> FLAGS_OF_LAYOUT = FLAG_CACHE_METADATA | FLAG_STAMPED; // headers after kv

const bit<8> STATUS_NOT_FOUND = 1;

const bit<8> BIT_HOT = 0x01;
const bit<8> BIT_EMBEDDED = 0x02;
const bit<8> BIT_DELETED = 0x04;
const bit<8> BIT_LATEST = 0x08;
const bit<8> BIT_DIRTY = 0x10;
const bit<8> BIT_OVERWRITTEN = 0x20;
const bit<8> BIT_VALID = 0x40;
const bit<8> BIT_PAST = 0x80;

const bit<16> VERSION_STAMP_BYTES = 13;
const bit<16> SLOT_BYTES = 6;
const bit<16> MAX_CACHED_BYTES = 128;

const bit<32> CONTROLLER_ADDRESS = 0x0A000001; // 10.0.0.1
const bit<48> CONTROLLER_MAC = 16w0x0200 ++ CONTROLLER_ADDRESS;
const bit<48> SERVICE_MAC = 16w0x0200 ++ SERVICE_ADDRESS;

/* The version of a record: incarnation of the switch and sequence number of the write. */
header version_stamp_t {
    bit<32> incarnation;
    bit<32> sequence;
    bit<32> generation;
    bit<8>  bits;
}

#define VERSION_STAMP_FIELDS hdr.version_stamp.incarnation, hdr.version_stamp.sequence, \
                             hdr.version_stamp.generation, hdr.version_stamp.bits

/* The entry that a message of the controller is about. number: a snapshot, or the count of
 * COUNT. */
header slot_t {
    bit<16> entry;
    bit<32> number;
}

#define SLOT_FIELDS hdr.slot.entry, hdr.slot.number
