/* Values of up to 128 bytes: chunk i of an entry's value is its cell in array i. */
#ifndef NETKV_ENTRY_VALUES_P4
#define NETKV_ENTRY_VALUES_P4

/* One array. What is stored comes from the frame; what is loaded takes its place there. */
control EntryArray(inout chunk_t chunk, in metadata_t meta, in bool loads, in bool stores) {
    register<bit<128>>(CACHE_ENTRIES) cells;
    bit<128> held = 0;

    apply {
        if (loads) {
            cells.read(held, meta.entry);
        }
        if (stores) {
            cells.write(meta.entry, chunk.data);
        }
        if (loads) {
            chunk.setValid();
            chunk.data = held;
        } else if (meta.role == ROLE_WRITE) {
            chunk.setInvalid(); // what leaves is the record before
        }
    }
}

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
        if (meta.loads) { load = meta.held.chunks; }
        if (meta.stores) { store = meta.brought.chunks; }
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

#endif
