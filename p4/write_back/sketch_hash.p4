/* The second hash of the key for the sketch. It is computed in ingress, which has free stages
 * (FarReach, section V-A). The halves of this CRC and of the CRC in meta.key_hash are the indices
 * of the rows. A CRC with a salt would not do: CRCs are linear, so keys that collide in one row
 * would collide in all. */

control SketchHash(in headers_t hdr, inout metadata_t meta) {
    apply {
        hash(meta.swapped_hash, HashAlgorithm.crc32, 32w0,
             { hdr.kv.key[63:0], hdr.kv.key[127:64] }, 64w0x100000000);
    }
}
