/* The lookup table of FarReach: key to entry. The generation distinguishes successive uses of an
 * entry. A message about an entry is about one generation. */

const bit<32> CACHE_ENTRIES = 32768;

control EntryLookup(inout headers_t hdr, inout metadata_t meta) {
    action cached(bit<16> entry, bit<32> generation) {
        meta.cached = true;
        meta.entry = (bit<32>) entry;
        meta.generation = generation;
    }

    table cache {
        key = { hdr.kv.key: exact @name("key"); }
        actions = { cached; NoAction; }
        const default_action = NoAction();
        size = 32768;
    }

    apply {
        if (meta.role == ROLE_CONTROL) {
            cached(hdr.slot.entry, hdr.version_stamp.generation); // the table may lack the key
        } else {
            cache.apply();
        }
    }
}
