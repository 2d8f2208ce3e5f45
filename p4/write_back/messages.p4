/* What leaves the switch: replies of its own, and requests that it forwards to servers. */

/* The port by which a frame arrived. A recirculated frame carries it along. */
control ArrivalPort(inout metadata_t meta, in standard_metadata_t std) {
    apply {
        if (std.instance_type != RECIRCULATED) {
            meta.arrival_port = std.ingress_port;
        }
    }
}

/* The port and op of the reply to a frame. Applied when the route is known. */
control ReplyPort(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        if (meta.role != ROLE_REPLY) {
            meta.reply_port = meta.arrival_port;
            meta.reply_op = hdr.kv.op | 1;
        } else if (meta.cached) {
            // The reply passes the entry, in the egress pipeline of its server, before the client
            // gets it.
            meta.reply_port = std.egress_spec;
            std.egress_spec = meta.arrival_port;
        } else {
            meta.role = ROLE_NONE;
        }
    }
}

/* Writes length and version of the stored record into the frame. Its chunks are in the frame
 * already. */
control StoredRecord(inout headers_t hdr, in metadata_t meta) {
    apply {
        hdr.kv.length = meta.stored.length;
        hdr.version_stamp.sequence = meta.stored.sequence;
        hdr.version_stamp.incarnation = 0; // of an earlier incarnation: older than all
        if (meta.stored.sequence != 0) {
            hdr.version_stamp.incarnation = meta.stored.incarnation;
        }
    }
}

/* Writes the stored record and its flags into a frame for the controller. */
control RecordReport(inout headers_t hdr, in metadata_t meta) {
    StoredRecord() stored_record;

    apply {
        stored_record.apply(hdr, meta);
        hdr.version_stamp.generation = meta.generation;
        hdr.version_stamp.bits = meta.further_bits;
        if (meta.stored.deleted) {
            hdr.version_stamp.bits = hdr.version_stamp.bits | BIT_DELETED;
        }
        if (meta.stored.latest) {
            hdr.version_stamp.bits = hdr.version_stamp.bits | BIT_LATEST;
        }
        if (meta.stored.dirty) {
            hdr.version_stamp.bits = hdr.version_stamp.bits | BIT_DIRTY;
        }
        if (meta.serving) {
            hdr.version_stamp.bits = hdr.version_stamp.bits | BIT_VALID;
        }
    }
}

/* Removes the value from a frame. */
control RemoveValue(inout headers_t hdr) {
    apply {
        hdr.kv.length = 0;
        hdr.value[0].setInvalid();
        hdr.value[1].setInvalid();
        hdr.value[2].setInvalid();
        hdr.value[3].setInvalid();
        hdr.value[4].setInvalid();
        hdr.value[5].setInvalid();
        hdr.value[6].setInvalid();
        hdr.value[7].setInvalid();
    }
}

/* Addresses and lengths of a reply. The destination of the frame is the owner of the key by now.
 * The reply comes from the service, to which the request was sent. Both UDP ports are equal, so
 * they stay. bytes: the UDP length of the reply. */
control ReplyAddress(inout headers_t hdr, in bit<16> bytes) {
    apply {
        hdr.ethernet.dst = hdr.ethernet.src;
        hdr.ethernet.src = SERVICE_MAC;
        hdr.ipv4.dst = hdr.ipv4.src;
        hdr.ipv4.src = SERVICE_ADDRESS;
        hdr.ipv4.total_len = IPV4_BYTES + bytes;
        hdr.udp.length = bytes;
    }
}

/* The reply to a read that the switch serves. */
control ReadAnswer(inout headers_t hdr, in metadata_t meta) {
    StoredRecord() stored_record;
    ReplyAddress() reply_address;

    apply {
        hdr.kv.op = OP_GET_REPLY;
        hdr.kv.status = STATUS_OK;
        if (meta.stored.deleted) {
            hdr.kv.status = STATUS_NOT_FOUND;
        }
        hdr.kv.flags = FLAG_STAMPED | FLAG_CACHE_HIT;
        stored_record.apply(hdr, meta);
        hdr.version_stamp.generation = 0;
        hdr.version_stamp.bits = 0;
        if (meta.stored.dirty) {
            hdr.version_stamp.bits = BIT_DIRTY; // the server lacks it: the client keeps a copy
        }
        reply_address.apply(hdr, meta.reply_bytes
                                 + (bit<16>) meta.stored.chunks * CHUNK_BYTES);
    }
}

/* The reply to a write that the switch has applied. */
control WriteAnswer(inout headers_t hdr, in metadata_t meta) {
    RemoveValue()  remove_value;
    ReplyAddress() reply_address;

    apply {
        hdr.kv.op = meta.reply_op;
        hdr.kv.status = STATUS_OK;
        hdr.kv.flags = FLAG_STAMPED | FLAG_CACHE_HIT;
        hdr.version_stamp.incarnation = meta.incarnation;
        hdr.version_stamp.sequence = meta.sequence;
        hdr.version_stamp.generation = 0;
        hdr.version_stamp.bits = 0;
        remove_value.apply(hdr);
        reply_address.apply(hdr, meta.reply_bytes);
    }
}

/* The reply to a message of the controller about an entry. */
control ControlAnswer(inout headers_t hdr, in metadata_t meta) {
    RemoveValue()  remove_value;
    RecordReport() record_report;
    ReplyAddress() reply_address;
    bit<16>        bytes = 0;

    apply {
        bytes = meta.reply_bytes;
        hdr.kv.status = STATUS_OK;
        if (!meta.same_generation && !meta.filled) {
            hdr.kv.status = STATUS_STALE;
        }
        hdr.kv.flags = FLAG_STAMPED;
        if (meta.reports) {
            record_report.apply(hdr, meta);
            bytes = bytes + (bit<16>) meta.stored.chunks * CHUNK_BYTES;
        } else {
            remove_value.apply(hdr);
            if (meta.same_generation && hdr.kv.op == OP_COUNT) {
                hdr.slot.number = (bit<32>) meta.count;
            }
        }
        hdr.kv.op = meta.reply_op;
        reply_address.apply(hdr, bytes);
    }
}

/* Writes the version stamp of a request that the switch forwards to a server. */
control ForwardToServer(inout headers_t hdr, in metadata_t meta) {
    StoredRecord() stored_record;
    bit<16>        value_bytes = 0;

    apply {
        hdr.version_stamp.generation = 0;
        hdr.version_stamp.bits = 0;
        if (meta.hot) {
            hdr.version_stamp.bits = BIT_HOT;
        }
        if (meta.role == ROLE_WRITE) {
            if (meta.past) {
                hdr.version_stamp.bits = hdr.version_stamp.bits | BIT_PAST;
            }
            hdr.version_stamp.incarnation = meta.incarnation;
            hdr.version_stamp.sequence = meta.sequence;
        } else {
            if (meta.validity == VALID) {
                hdr.version_stamp.generation = meta.generation; // the reply may refresh the entry
            }
            if (meta.loads) {
                // The record may have been lost on its way from the switch to the server.
                hdr.version_stamp.bits = hdr.version_stamp.bits | BIT_EMBEDDED;
                if (meta.stored.deleted) {
                    hdr.version_stamp.bits = hdr.version_stamp.bits | BIT_DELETED;
                }
                stored_record.apply(hdr, meta);
                value_bytes = (bit<16>) meta.stored.chunks * CHUNK_BYTES;
                hdr.udp.length = hdr.udp.length + value_bytes;
                hdr.ipv4.total_len = hdr.ipv4.total_len + value_bytes;
            }
        }
    }
}

/* Sends a frame out by its reply port. An egress pipeline cannot change the port of a frame. A
 * clone of the frame leaves by the reply port and the frame itself is dropped (FarReach, section
 * V-A). The clone has the headers as they are now. Its own pass through egress changes nothing. The
 * number of a clone session is the number of its port. */
control Reflect(inout headers_t hdr, in metadata_t meta, inout standard_metadata_t std) {
    apply {
        if (meta.reply_port == CPU_PORT) {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = meta.arrival_port;
        } else {
            hdr.packet_in.setInvalid();
        }
        clone(CloneType.E2E, (bit<32>) meta.reply_port);
        mark_to_drop(std);
    }
}
