/* One row of a Count-Min sketch: counts the key and lowers the estimate to its count. */

control SketchRow(inout metadata_t meta, in bit<16> index) {
    register<bit<32>>(65536) cells; // epoch (16) | count (16)
    bit<32> cell = 0;
    bit<16> count = 0;

    apply {
        cells.read(cell, (bit<32>) index);
        count = 0;
        if (cell[31:16] == meta.epoch) {
            count = cell[15:0];
        }
        count = count |+| 1;
        cells.write((bit<32>) index, meta.epoch ++ count);
        if (count < meta.estimate) {
            meta.estimate = count;
        }
    }
}
