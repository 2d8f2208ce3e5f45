/* The header with what the switch knows about a cached key (docs/wire-format.md). */

header cache_metadata_t {
    bit<32> generation;
    bit<32> version;
    bit<8>  bitmap;
}
