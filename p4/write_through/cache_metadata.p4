/* Writes the cache metadata into a request that is forwarded to a server. */

control CacheMetadata(inout headers_t hdr, inout metadata_t meta) {
    apply {
        if (meta.cached) {
            if (!hdr.cache_metadata.isValid()) {
                hdr.kv.flags = hdr.kv.flags | FLAG_CACHE_METADATA;
                hdr.ipv4.total_len = hdr.ipv4.total_len + CACHE_METADATA_BYTES;
                hdr.udp.length = hdr.udp.length + CACHE_METADATA_BYTES;
            }
            hdr.cache_metadata.setValid();
            hdr.cache_metadata.generation = meta.generation;
            hdr.cache_metadata.version = meta.version;
            hdr.cache_metadata.bitmap = meta.bitmap;
        } else if (hdr.cache_metadata.isValid()) {
            // No switch has written this metadata. The server must not use it.
            hdr.cache_metadata.setInvalid();
            hdr.kv.flags = hdr.kv.flags & ~FLAG_CACHE_METADATA;
            hdr.ipv4.total_len = hdr.ipv4.total_len - CACHE_METADATA_BYTES;
            hdr.udp.length = hdr.udp.length - CACHE_METADATA_BYTES;
        }
    }
}
