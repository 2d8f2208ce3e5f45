/* The headers of messages about records and entries (docs/internals/wire-format.md). */

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
