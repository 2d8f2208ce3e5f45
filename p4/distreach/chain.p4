/* The chain of a key: which requests belong to this switch's chain, and the stamp with which they
 * pass along it. */

/* Bits of a request's stamp between the switches of a chain. In reports about entries the same bits
 * have other meanings. */
const bit<8> BIT_STORED = 0x08;     // every switch so far has the write, or a newer one of the key
const bit<8> BIT_SUPERSEDED = 0x20; // a switch knows a newer write of the key
const bit<8> BIT_SEQUENCED = 0x40;  // the head of the chain has stamped the request

/* Whether a request is for keys of this switch's chain. The controller enters the servers of the
 * chain. A request of another chain is only routed: it takes another way because a switch is
 * down. */
control Chain(inout headers_t hdr, inout metadata_t meta) {
    action of_this_chain() { }

    action of_another_chain() {
        meta.role = ROLE_NONE;
    }

    table servers {
        key = { hdr.ipv4.dst: exact @name("address"); }
        actions = { of_this_chain; of_another_chain; }
        const default_action = of_another_chain();
        size = 1024;
    }

    apply {
        servers.apply();
    }
}

/* The incarnation of the chain, and the position of this switch in it. One table has both: when a
 * switch becomes the head, it stamps with the new incarnation from its first request on. */
control Incarnation(inout headers_t hdr, inout metadata_t meta) {
    bit<32> lost = 0;
    bool    knows = false;

    /* previous: the incarnation before this one that continues the same sequence numbers; 0: none.
     * last_loss: the incarnation that began with the last loss of a switch's state.
     * position: number of switches before this one in the chain; 0: this switch is the head. */
    action set(bit<32> incarnation, bit<32> previous, bit<32> last_loss, bit<8> position) {
        meta.incarnation = incarnation;
        meta.previous = previous;
        lost = last_loss;
        meta.position = position;
    }

    table current {
        actions = { set; }
        default_action = set(0, 0, 0, 255);
    }

    apply {
        current.apply();
        meta.same_incarnation = hdr.version_stamp.incarnation != 0
                                && (hdr.version_stamp.incarnation == meta.incarnation
                                    || hdr.version_stamp.incarnation == meta.previous);
        meta.own_incarnation = meta.incarnation;
        if (meta.role == ROLE_READ || meta.role == ROLE_WRITE) {
            meta.head = meta.position == 0;
            if (meta.head) {
                // The client's incarnation. It knows the last loss, or the write is from before it.
                knows = hdr.version_stamp.incarnation != 0
                        && hdr.version_stamp.incarnation - lost < 0x80000000;
                meta.past = hdr.version_stamp.incarnation != 0 && !knows;
                meta.storable = knows;
            } else if (meta.same_incarnation
                       && (hdr.version_stamp.bits & BIT_SEQUENCED) != 0) {
                meta.past = (hdr.version_stamp.bits & BIT_PAST) != 0;
                // The frame has passed all switches before this one, and all of them have the write
                // in an entry of this generation. Of an earlier one they have nothing any more.
                meta.storable = (hdr.version_stamp.bits & BIT_STORED) != 0
                                && hdr.version_stamp.generation[7:0] == meta.position
                                && hdr.version_stamp.generation[31:8] == meta.generation[23:0];
                meta.superseded = (hdr.version_stamp.bits & BIT_SUPERSEDED) != 0;
                meta.sequence = hdr.version_stamp.sequence;
                meta.own_incarnation = hdr.version_stamp.incarnation;
            } else {
                // From before a recovery: the records that it may be about are elsewhere now.
                meta.drop_reason = DROP_LATE;
            }
            meta.incoming.incarnation = meta.own_incarnation;
        } else {
            meta.incoming.incarnation = hdr.version_stamp.incarnation;
            if (meta.same_incarnation) {
                meta.sequence = hdr.version_stamp.sequence;
            }
        }
    }
}

/* The stamp with which a request continues along the chain. */
control ChainStamp(inout headers_t hdr, in metadata_t meta) {
    apply {
        hdr.version_stamp.incarnation = meta.own_incarnation;
        hdr.version_stamp.sequence = meta.sequence;
        // The entry of the key in this switch, and the switches passed so far.
        hdr.version_stamp.generation = meta.generation[23:0] ++ (meta.position + 1);
        hdr.version_stamp.bits = BIT_SEQUENCED;
        if (meta.past) {
            hdr.version_stamp.bits = hdr.version_stamp.bits | BIT_PAST;
        }
        if (meta.superseded) {
            hdr.version_stamp.bits = hdr.version_stamp.bits | BIT_SUPERSEDED;
        }
        if (meta.applied || meta.covered) {
            hdr.version_stamp.bits = hdr.version_stamp.bits | BIT_STORED;
        }
    }
}
