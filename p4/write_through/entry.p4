/* The entries of the cache: which frames concern them, which one a key has, whether it is valid,
 * and its value. */

/* Whether a frame is a request that a cache entry serves or follows. Replies and messages between
 * controller and server are not. */
bool concerns_cache(in bit<8> op) {
    return op[0:0] == 0 && op[7:4] != OPS_OF_CONTROLLER;
}

bool is_write(in bit<8> op) {
    return op == OP_PUT || op == OP_DELETE || op == OP_INVALIDATE;
}

/* The lookup table: key to entry, value row and value arrays (NetCache's slide "Variable-Length
 * On-Chip Key-Value Cache"). An entry number is unique. Entries with disjoint bitmaps share a
 * row. */

const bit<32> CACHE_ENTRIES = 65536;
const bit<32> CACHE_ROWS = 65536;

control CacheLookup(inout headers_t hdr, inout metadata_t meta) {
    action cached(bit<16> entry, bit<16> index, bit<8> bitmap, bit<32> generation) {
        meta.cached = true;
        meta.entry = (bit<32>) entry;
        meta.row = (bit<32>) index;
        meta.bitmap = bitmap;
        meta.generation = generation;
    }

    table cache {
        key = { hdr.kv.key: exact @name("key"); }
        actions = { cached; NoAction; }
        const default_action = NoAction();
        size = 65536;
    }

    apply {
        cache.apply();
    }
}

/* Whether an entry holds the latest value of its key.
 *
 * Every write of a cached key increments the version of the entry and invalidates the entry. An
 * UPDATE makes the entry valid again only if it carries the current version. Then no write has
 * passed since the write that the UPDATE is for. The register `valid` holds the generation for
 * which the entry is valid. An entry that is reused for another key is therefore invalid without
 * being cleared.
 *
 * COMPARE_VERSIONS false leaves the comparison out, to measure what it costs: an UPDATE that has
 * been overtaken by a write then makes an old value readable. */

#ifndef COMPARE_VERSIONS
#define COMPARE_VERSIONS true
#endif

control Validity(inout headers_t hdr, inout metadata_t meta) {
    register<bit<32>>(CACHE_ENTRIES) version;
    register<bit<32>>(CACHE_ENTRIES) valid;
    bit<32> valid_generation = 0;

    apply {
        version.read(meta.version, meta.entry);
        if (hdr.kv.op == OP_GET) {
            valid.read(valid_generation, meta.entry);
            meta.readable = valid_generation == meta.generation;
        } else if (hdr.kv.op == OP_UPDATE) {
            // The same generation implies the same bitmap. The comparison rejects faulty senders.
            meta.same_entry = hdr.cache_metadata.generation == meta.generation
                              && hdr.cache_metadata.bitmap == meta.bitmap;
            if (meta.same_entry
                && (!COMPARE_VERSIONS || hdr.cache_metadata.version == meta.version)) {
                meta.refreshed = true;
                valid.write(meta.entry, meta.generation);
            }
        } else if (is_write(hdr.kv.op)) {
            meta.version = meta.version + 1;
            version.write(meta.entry, meta.version);
            valid.write(meta.entry, 0);
        }
    }
}

/* One value array: a read adds the chunk to the frame, an UPDATE stores the chunk of the frame. */
control ValueArray(inout chunk_t chunk, inout metadata_t meta) {
    register<bit<128>>(CACHE_ROWS) cells;

    apply {
        if (meta.readable) {
            chunk.setValid();
            cells.read(chunk.data, meta.row);
            meta.reply_bytes = meta.reply_bytes + CHUNK_BYTES;
        } else {
            cells.write(meta.row, chunk.data);
            chunk.setInvalid();
        }
    }
}

/* Values of up to 128 bytes in 8 arrays of 16 bytes (the same slide). An entry owns the cell of its
 * row in each array of its bitmap. */
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
