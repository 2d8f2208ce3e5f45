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
