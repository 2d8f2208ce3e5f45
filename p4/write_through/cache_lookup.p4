/* The lookup table of NetCache: key to entry, value row and value arrays (slide "Variable-Length
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
