/* Values of up to 128 bytes in 8 arrays of 16 bytes (slide "Variable-Length On-Chip Key-Value
 * Cache"). An entry owns the cell of its row in each array of its bitmap. */

control ValueArrays(inout headers_t hdr, inout metadata_t meta) {
    register<bit<16>>(CACHE_ENTRIES) length; // bytes of the value, without padding
    ValueArray() array0;
    ValueArray() array1;
    ValueArray() array2;
    ValueArray() array3;
    ValueArray() array4;
    ValueArray() array5;
    ValueArray() array6;
    ValueArray() array7;

    apply {
        if (meta.readable) {
            length.read(hdr.kv.length, meta.entry);
        } else {
            length.write(meta.entry, hdr.kv.length);
        }
        if (meta.bitmap[0:0] == 1) { array0.apply(hdr.value[0], meta); }
        if (meta.bitmap[1:1] == 1) { array1.apply(hdr.value[1], meta); }
        if (meta.bitmap[2:2] == 1) { array2.apply(hdr.value[2], meta); }
        if (meta.bitmap[3:3] == 1) { array3.apply(hdr.value[3], meta); }
        if (meta.bitmap[4:4] == 1) { array4.apply(hdr.value[4], meta); }
        if (meta.bitmap[5:5] == 1) { array5.apply(hdr.value[5], meta); }
        if (meta.bitmap[6:6] == 1) { array6.apply(hdr.value[6], meta); }
        if (meta.bitmap[7:7] == 1) { array7.apply(hdr.value[7], meta); }
    }
}
