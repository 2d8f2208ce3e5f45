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
