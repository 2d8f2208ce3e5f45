/* The entries of the cache: who may change them, which one a key has, and the registers of an entry
 * in the order in which a frame passes them. */

const bit<32> CACHE_ENTRIES = 32768;

/* Only the controller may send messages about entries. Otherwise any host could remove entries or
 * send false messages to the controller. */
control EntryAccess(in headers_t hdr, inout metadata_t meta, in standard_metadata_t std) {
    apply {
        if (hdr.kv.isValid() && (hdr.kv.op & 0xF0) == OPS_OF_ENTRIES
            && std.ingress_port != CPU_PORT) {
            meta.drop_reason = DROP_FORBIDDEN;
        } else if (meta.role == ROLE_CONTROL && (bit<32>) hdr.slot.entry >= CACHE_ENTRIES) {
            meta.drop_reason = DROP_MALFORMED;
        }
    }
}

/* The lookup table: key to entry. The generation distinguishes successive uses of an
 * entry. A message about an entry is about one generation. */

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

/* The generation of an entry and its validity, the paper's validity register (FarReach, III-B).
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

/* Flags, incarnation and length of the record in an entry. Latest: no later write of the key is
 * known. Dirty: the server has not received the record from the switch. */
control EntryFlags(inout metadata_t meta) {
    register<bit<32>>(CACHE_ENTRIES) cells; // latest, dirty, deleted | incarnation[12:0] | length
    bit<32> cell = 0;

    apply {
        cells.read(cell, meta.entry);
        meta.stored.latest = cell[31:31] == 1;
        meta.stored.dirty = cell[30:30] == 1;
        meta.stored.deleted = cell[29:29] == 1;
        meta.stored.incarnation = incarnation_of(cell[28:16], meta.incarnation);
        meta.stored.length = cell[15:0];
        meta.stored.chunks = (cell[15:0] + (CHUNK_BYTES - 1))[11:4];
        if (meta.stores) {
            cells.write(meta.entry, (bit<1>) meta.incoming.latest ++ (bit<1>) meta.applied
                                    ++ (bit<1>) meta.incoming.deleted
                                    ++ meta.incoming.incarnation[12:0] ++ meta.incoming.length);
        } else if (meta.outdates) {
            // A reply shows that the server has a later record and does not need this one.
            cells.write(meta.entry, 1w0 ++ (bit<1>) (meta.stored.dirty && meta.role != ROLE_REPLY)
                                    ++ cell[29:0]);
        }
    }
}

/* One value array. It stores the chunk of the frame. A loaded chunk replaces it in the frame. */
control EntryArray(inout chunk_t chunk, in metadata_t meta, in bool loads, in bool stores) {
    register<bit<128>>(CACHE_ENTRIES) cells;
    bit<128> stored = 0;

    apply {
        if (loads) {
            cells.read(stored, meta.entry);
        }
        if (stores) {
            cells.write(meta.entry, chunk.data);
        }
        if (loads) {
            chunk.setValid();
            chunk.data = stored;
        }
    }
}

/* Values of up to 128 bytes in 8 arrays of 16 bytes: chunk i of a value is in array i. */
control EntryValues(inout headers_t hdr, inout metadata_t meta) {
    EntryArray() array0;
    EntryArray() array1;
    EntryArray() array2;
    EntryArray() array3;
    EntryArray() array4;
    EntryArray() array5;
    EntryArray() array6;
    EntryArray() array7;
    bit<8> load = 0;
    bit<8> store = 0;

    apply {
        load = 0;
        store = 0;
        if (meta.loads) { load = meta.stored.chunks; }
        if (meta.stores) { store = meta.incoming.chunks; }
        if (load > 0 || store > 0) { array0.apply(hdr.value[0], meta, load > 0, store > 0); }
        if (load > 1 || store > 1) { array1.apply(hdr.value[1], meta, load > 1, store > 1); }
        if (load > 2 || store > 2) { array2.apply(hdr.value[2], meta, load > 2, store > 2); }
        if (load > 3 || store > 3) { array3.apply(hdr.value[3], meta, load > 3, store > 3); }
        if (load > 4 || store > 4) { array4.apply(hdr.value[4], meta, load > 4, store > 4); }
        if (load > 5 || store > 5) { array5.apply(hdr.value[5], meta, load > 5, store > 5); }
        if (load > 6 || store > 6) { array6.apply(hdr.value[6], meta, load > 6, store > 6); }
        if (load > 7 || store > 7) { array7.apply(hdr.value[7], meta, load > 7, store > 7); }
    }
}
