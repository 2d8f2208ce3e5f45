/* The generation of an entry and its validity: the validity register of FarReach (section III-B).
 * Messages of the controller change the state in one direction only. A late copy of a message is
 * about an earlier generation and changes nothing. */

const bit<8> INVALID = 0;
const bit<8> VALID = 1;
const bit<8> TO_BE_EVICTED = 3;

control EntryState(inout headers_t hdr, inout metadata_t meta) {
    register<bit<64>>(CACHE_ENTRIES) cells; // generation (32) | validity (8) | retired (1) | 0 (23)
    bit<64> old = 0;
    bit<64> new = 0;

    apply {
        cells.read(old, meta.entry);
        meta.same_generation = old[63:32] == meta.generation && meta.generation != 0;
        if (meta.same_generation) {
            meta.validity = old[31:24];
            meta.serving = meta.validity != INVALID;
        }
        if (meta.role == ROLE_CONTROL) {
            new = old;
            if (hdr.kv.op == OP_FILL) {
                meta.filled = is_newer(meta.generation, old[63:32]);
                if (meta.filled) {
                    new = meta.generation ++ INVALID ++ 24w0;
                    if ((hdr.version_stamp.bits & BIT_VALID) != 0) {
                        new[31:24] = VALID;
                    }
                }
            } else if (meta.same_generation && old[23:23] == 0) {
                if (hdr.kv.op == OP_VALIDATE && meta.validity == INVALID) {
                    new[31:24] = VALID;
                } else if (hdr.kv.op == OP_EVICT) {
                    new[31:24] = TO_BE_EVICTED;
                } else if (hdr.kv.op == OP_RETIRE) {
                    new[31:23] = INVALID ++ 1w1;
                }
            }
            cells.write(meta.entry, new);
        }
    }
}
