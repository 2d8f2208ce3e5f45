/* Selects the requests that are counted. The choice depends on the request alone, so a run can be
 * repeated. */

/* Selects `sample_below` of 65536 requests. */
control Sampler(in headers_t hdr, inout metadata_t meta, in bit<32> sample_below) {
    bit<32> draw = 0;

    apply {
        hash(draw, HashAlgorithm.crc16, 32w0, { hdr.kv.sender, hdr.kv.request, hdr.kv.key },
             32w65536);
        meta.sampled = draw < sample_below;
    }
}
