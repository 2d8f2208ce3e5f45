/* The ingress pipeline of a port. */

control IngressPipeline(inout metadata_t meta, in standard_metadata_t std) {
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
        if (std.instance_type != RECIRCULATED) { // the loop port is in pipeline 0
            ports.apply();
        }
    }
}
