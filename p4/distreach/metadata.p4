/* What the controls of DistReach know about a frame. */

/* Role of the frame, set by the parser. */
const bit<8> ROLE_NONE = 0;    // also a request for the keys of another chain
const bit<8> ROLE_READ = 1;
const bit<8> ROLE_WRITE = 2;
const bit<8> ROLE_REPLY = 3;   // of a server to a client
const bit<8> ROLE_CONTROL = 4; // message of the controller about an entry

/* The record in the frame. */
struct incoming_record_t {
    bool    fits; // an entry could store it
    bool    deleted;
    bool    latest; // the tail may answer reads with it
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
    bit<16>           reply_bytes;      // UDP length of the frame without its value
    bit<32>           key_hash;
    bit<8>            mode;             // of this switch
    // ports
    bit<9>            arrival_port;
    bit<9>            reply_port;
    bit<8>            reply_op;
    // version
    bit<32>           incarnation;      // of the chain
    bit<32>           previous;         // the one before, which continues the sequence; 0: none
    bit<32>           sequence;         // of the write or of the version stamp; 0: older than all
    bit<32>           own_incarnation;  // of `sequence`, if the frame is a write
    bit<8>            position;         // number of switches before this one in the chain
    bool              head;             // this switch stamps the requests of the chain
    bool              same_incarnation; // the version stamp is of this incarnation
    bool              past;             // a write first sent before the last loss of the chain
    bool              storable;         // all switches so far have the write; entries may take it
    bool              superseded;       // a switch knows a newer write of the key
    // the entry of the key
    bool              cached;
    bit<32>           entry;
    bit<32>           generation;
    bool              same_generation;  // the entry holds this generation
    bit<8>            validity;
    bool              serving;          // valid or to be evicted
    // effect of this frame on the entry
    bool              filled;
    bool              applied;          // the write is stored
    bool              covered;          // the entry has this write or a newer one already
    bool              first_copy;       // a write that the head sees for the first time
    bool              repeated;         // another copy of a write that the head has stamped
    bit<32>           dedup_index;
    bool              answers_reads;    // a read, and this switch is the tail
    bool              refreshes;
    bool              outdates;
    bool              reports;          // a message whose reply reports the record
    bool              stores;           // the entry gets the record of the frame
    bool              loads;            // the frame gets the record of the entry
    bit<8>            further_bits;     // of a report about the record
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
