/* Which requests are counted. The choice hangs on the request alone, so a run can be repeated. */
#ifndef NETKV_LOT_P4
#define NETKV_LOT_P4

/* Of 65536 requests `below` are chosen. */
control Lot(in headers_t hdr, inout metadata_t meta, in bit<32> below) {
    bit<32> lot = 0;

    apply {
        hash(lot, HashAlgorithm.crc16, 32w0, { hdr.kv.sender, hdr.kv.request, hdr.kv.key },
             32w65536);
        meta.sampled = lot < below;
    }
}

#endif
