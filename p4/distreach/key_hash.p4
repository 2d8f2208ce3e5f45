/* The hash of the key of a request that another switch has sent to the owner of the key.
 * Partition computes it for requests to the service. */

control KeyHash(in headers_t hdr, inout metadata_t meta) {
    apply {
        if (hdr.ipv4.dst != SERVICE_ADDRESS) {
            hash(meta.key_hash, HashAlgorithm.crc32, 32w0, { hdr.kv.key }, 64w0x100000000);
        }
    }
}
