/* The loads of the switches of one layer, as their last answers told. A load that is not heard of
 * again counts less and less: the switch may have begun a new epoch, or may answer no more. */

control KnownLoads(inout metadata_t meta, in bool notes, in bit<8> number, in bit<32> reads,
                   out bit<32> known) {
    register<bit<64>>(256) cells; // time (32) | reads (32)
    bit<64> cell = 0;
    bit<32> age = 0;

    apply {
        known = 0;
        if (notes) {
            cells.write((bit<32>) number, meta.now ++ reads);
        } else {
            cells.read(cell, (bit<32>) number);
            age = meta.now - cell[63:32];
            if (age < meta.half_life) {
                known = cell[31:0];
            } else if (age < (meta.half_life << 1)) {
                known = cell[31:0] >> 1;
            } else if (age < (meta.half_life << 2)) {
                known = cell[31:0] >> 2;
            }
        }
    }
}
