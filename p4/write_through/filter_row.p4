/* One row of the Bloom filter of reported keys: notes the key, and tests whether it was new. */

control FilterRow(inout metadata_t meta, in bit<18> index) {
    register<bit<16>>(262144) cells; // the epoch of the last report
    bit<16> cell = 0;

    apply {
        cells.read(cell, (bit<32>) index);
        if (cell != meta.epoch) {
            meta.unreported = true;
            cells.write((bit<32>) index, meta.epoch);
        }
    }
}
