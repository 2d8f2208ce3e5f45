/* Sends a request for the service to the server that owns its key. The controller fills the table:
 * each server owns one range of the 32-bit hash space. */

control Partition(inout headers_t hdr, inout metadata_t meta) {
    action to_owner(bit<48> mac, bit<32> address) {
        hdr.ethernet.dst = mac;
        hdr.ipv4.dst = address;
    }

    action unowned() {
        meta.drop_reason = DROP_NO_OWNER;
    }

    table owner {
        key = { meta.key_hash: range @name("hash"); }
        actions = { to_owner; unowned; }
        const default_action = unowned();
        size = 1024;
    }

    apply {
        if (hdr.ipv4.dst == SERVICE_ADDRESS) {
            hash(meta.key_hash, HashAlgorithm.crc32, 32w0, { hdr.kv.key }, 64w0x100000000);
            owner.apply();
        }
    }
}
