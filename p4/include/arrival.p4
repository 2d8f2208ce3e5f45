/* Where a frame came in, and where what answers it has to leave. */
#ifndef NETKV_ARRIVAL_P4
#define NETKV_ARRIVAL_P4

control Arrival(inout metadata_t meta, in standard_metadata_t std) {
    apply {
        // A recirculated frame brings its port of arrival along.
        if (std.instance_type != RECIRCULATED) {
            meta.arrival = std.ingress_port;
        }
    }
}

/* The ingress pipeline. */
control Ports(inout metadata_t meta, in standard_metadata_t std) {
    action of_pipeline(bit<8> pipeline) {
        meta.pipeline = pipeline;
    }

    table ports {
        key = { std.ingress_port: exact @name("port"); }
        actions = { of_pipeline; }
        const default_action = of_pipeline(0);
        size = 512;
    }

    apply {
        if (std.instance_type != RECIRCULATED) { // the loop is in pipeline 0
            ports.apply();
        }
    }
}

/* After the route is known. */
control AnswerPort(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        if (meta.role != ROLE_REPLY) {
            meta.answer_port = meta.arrival;
            meta.answer_op = hdr.kv.op | 1;
        } else if (meta.cached) {
            // It passes the entry, which is where its server is, before the client knows.
            meta.answer_port = std.egress_spec;
            std.egress_spec = meta.arrival;
        } else {
            meta.role = ROLE_NONE;
        }
    }
}

#endif
