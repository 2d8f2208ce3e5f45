/* Whether an entry holds the latest value of its key.
 *
 * Every write of a cached key that passes raises the entry's version and makes it invalid. An
 * UPDATE makes it valid again only if it carries that very version: no write has passed since the
 * one whose value it brings. `valid` holds the generation for which the entry is valid, so an entry
 * that was given to another key is invalid without anybody clearing it.
 */
#ifndef NETKV_VALIDITY_P4
#define NETKV_VALIDITY_P4

control Validity(inout headers_t hdr, inout metadata_t meta) {
    register<bit<32>>(CACHE_ENTRIES) version;
    register<bit<32>>(CACHE_ENTRIES) valid;
    bit<32> valid_for = 0;

    apply {
        version.read(meta.version, meta.entry);
        if (hdr.kv.op == OP_GET) {
            valid.read(valid_for, meta.entry);
            meta.readable = valid_for == meta.generation;
        } else if (hdr.kv.op == OP_UPDATE) {
            // An entry with the same generation has the same bitmap, unless somebody is wrong.
            meta.same_entry = hdr.mark.generation == meta.generation
                              && hdr.mark.bitmap == meta.bitmap;
            if (meta.same_entry && hdr.mark.version == meta.version) {
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

#endif
