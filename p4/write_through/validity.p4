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
