/* Where the upper copy of a key is. Each switch of the upper layer caches the keys of one range of
 * a hash that is independent of the hash for owners. The controller fills the table. */

control UpperCopy(inout headers_t hdr, inout metadata_t meta) {
    bit<32> upper_hash = 0;

    action here() {
        meta.upper_here = true;
    }

    /* number: of the switch in its layer. */
    action towards(bit<9> port, bit<8> number) {
        meta.upper_known = true;
        meta.upper_port = port;
        meta.upper_number = number;
    }

    table switches {
        key = { upper_hash: range @name("hash"); }
        actions = { here; towards; NoAction; }
        const default_action = NoAction();
        size = 64;
    }

    apply {
        hash(upper_hash, HashAlgorithm.crc32, 32w0, { hdr.kv.key[63:0], hdr.kv.key[127:64] },
             64w0x100000000);
        switches.apply();
    }
}
