/* What the controls of FarReach know about a frame. */

/* Role of the frame, set by the parser. */
const bit<8> ROLE_NONE = 0;
const bit<8> ROLE_READ = 1;
const bit<8> ROLE_WRITE = 2;
const bit<8> ROLE_REPLY = 3;   // of a server to a client
const bit<8> ROLE_CONTROL = 4; // message of the controller about an entry

/* Field lists: metadata that is kept when a frame is recirculated or cloned. */
enum bit<8> Kept {
    REDIRECTED = 1,
    ORIGINAL = 2
}

/* The record in the frame. */
struct incoming_record_t {
    bool    fits; // an entry could store it
    bool    deleted;
    bool    latest; // the switch may answer reads with it
    bit<16> length;
    bit<8>  chunks;
    bit<32> incarnation;
}

/* The record in the entry, as it was before this frame. */
struct stored_record_t {
    bool    latest;
    bool    dirty;
    bool    deleted;
    bit<16> length;
    bit<8>  chunks;
    bit<32> incarnation;
    bit<32> sequence;
}

struct metadata_t {
    bit<8>            drop_reason;
    bit<8>            role;
    bit<16>           udp_checksum;     // written by UpdateChecksums only; 0 before
    @field_list(Kept.ORIGINAL)
    bit<16>           reply_bytes;      // UDP length of the frame without its value
    bit<32>           key_hash;
    // ports
    @field_list(Kept.REDIRECTED, Kept.ORIGINAL)
    bit<9>            arrival_port;
    bit<8>            pipeline;
    bool              redirected;
    bit<9>            reply_port;
    @field_list(Kept.ORIGINAL)
    bit<8>            reply_op;
    @field_list(Kept.ORIGINAL)
    bit<8>            clones_left;
    // version
    @field_list(Kept.ORIGINAL)
    bit<32>           incarnation;
    @field_list(Kept.ORIGINAL)
    bit<32>           sequence;         // of the write or of the version stamp; 0: older than all
    bool              same_incarnation; // the version stamp is of this incarnation
    bool              past;             // a write of an earlier incarnation
    bit<32>           snapshot;         // the snapshot in progress; 0: none
    // the entry of the key
    bool              cached;
    bit<32>           entry;
    bit<32>           generation;
    bool              same_generation;  // the entry holds this generation
    bit<8>            validity;
    bool              serving;          // valid or to be evicted
    // effect of this frame on the entry
    bool              filled;
    bool              first_copy;       // a write that arrives for the first time
    bool              applied;
    bool              repeated;         // another copy of an applied write
    bit<32>           dedup_index;
    bool              refreshes;
    bool              outdates;
    bool              original;         // the first write after the snapshot point
    bit<8>            further_bits;     // of a report about the record
    bool              reports;          // a message whose reply reports the record
    bool              stores;           // the entry gets the record of the frame
    bool              loads;            // the frame gets the record of the entry
    bool              answered;         // leaves through reply_port
    incoming_record_t incoming;
    stored_record_t   stored;
    // statistics
    bit<32>           sample_below;
    bool              sampled;
    bit<16>           epoch;
    bit<16>           hot_threshold;
    bit<32>           swapped_hash;
    bit<16>           estimate;
    bit<16>           count;
    bool              hot;
}
