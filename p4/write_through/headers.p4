/* The header with what the switch knows about a cached key (docs/internals/wire-format.md). */

header cache_metadata_t {
    bit<32> generation;
    bit<32> version;
    bit<8>  bitmap;
}

#define CACHE_METADATA_FIELDS hdr.cache_metadata.generation, hdr.cache_metadata.version, \
                              hdr.cache_metadata.bitmap
