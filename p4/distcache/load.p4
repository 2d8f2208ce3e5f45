/* The load of this switch: the reads that it has answered in the statistics epoch. Its answers
 * carry it, if the controller has given the switch a number. */

control Load(inout headers_t hdr, inout metadata_t meta) {
    register<bit<48>>(1) cells; // epoch (16) | reads (32)
    bit<48> cell = 0;
    bit<32> reads = 0;

    action report(bit<8> layer, bit<8> number) {
        hdr.load.setValid();
        hdr.load.layer = layer;
        hdr.load.number = number;
    }

    table settings {
        actions = { report; NoAction; }
        default_action = NoAction();
    }

    apply {
        cells.read(cell, 0);
        if (cell[47:32] == meta.epoch) {
            reads = cell[31:0];
        }
        reads = reads + 1;
        cells.write(0, meta.epoch ++ reads);
        settings.apply();
        if (hdr.load.isValid()) {
            hdr.load.reads = reads;
            hdr.kv.flags = hdr.kv.flags | FLAG_LOAD;
            hdr.ipv4.total_len = hdr.ipv4.total_len + LOAD_BYTES;
            hdr.udp.length = hdr.udp.length + LOAD_BYTES;
        }
    }
}
