/* What the controls of a switch with a cache know about a frame. */

struct metadata_t {
    bit<8>  drop_reason;
    bit<16> udp_checksum;  // written by UpdateChecksums only; 0 before
    bit<32> key_hash;
    bool    answered;      // reflected, so it needs no owner
    // the upper copy of the key
    bool    upper;         // the frame is about that copy
    bool    upper_here;    // this switch may have it
    bool    upper_known;   // upper_port leads towards the switch that may have it
    bit<9>  upper_port;
    bit<8>  upper_number;
    // the entry of the key
    bool    cached;
    bit<32> entry;
    bit<32> row;
    bit<8>  bitmap;
    bit<32> generation;
    bit<32> version;
    bool    readable;      // a GET of a valid entry
    bool    same_entry;    // an UPDATE for this generation
    bool    refreshed;     // an UPDATE with the latest value
    bit<16> reply_bytes;   // UDP length of a reply of the switch, without a load
    // statistics
    bool    sampled;
    bit<16> epoch;
    bit<16> hits;
    bit<16> hot_threshold;
    bit<16> estimate;
    bool    unreported;
}
