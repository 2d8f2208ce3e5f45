/* One value array. It stores the chunk of the frame. A loaded chunk replaces it in the frame. */

control EntryArray(inout chunk_t chunk, in metadata_t meta, in bool loads, in bool stores) {
    register<bit<128>>(CACHE_ENTRIES) cells;
    bit<128> stored = 0;

    apply {
        if (loads) {
            cells.read(stored, meta.entry);
        }
        if (stores) {
            cells.write(meta.entry, chunk.data);
        }
        if (loads) {
            chunk.setValid();
            chunk.data = stored;
        }
    }
}
