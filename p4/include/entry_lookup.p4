/* The lookup table of FarReach: key to entry. Generations tell fillings of an entry apart; what a
 * frame says about an entry is about one of them. */
#ifndef NETKV_ENTRY_LOOKUP_P4
#define NETKV_ENTRY_LOOKUP_P4

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
            cached(hdr.place.entry, hdr.stamp.generation); // the key may not be in the table
        } else {
            cache.apply();
        }
    }
}

#endif
