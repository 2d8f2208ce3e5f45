// A hash over an invalid header, and checksum verification with an invalid header.
#include <core.p4>
#include <v1model.p4>

header request_t {
    bit<8>  has_body;
    bit<8>  number;
}

header body_t {
    bit<16> word;
    bit<16> sum;
}

header answer_t {
    bit<8>  checksum_error;
    bit<32> hash;
}

struct headers_t {
    answer_t  answer;
    request_t request;
    body_t    body;
}

struct metadata_t { }

parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta,
             inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.request);
        transition select(hdr.request.has_body) {
            1: body;
            default: accept;
        }
    }
    state body {
        packet.extract(hdr.body);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(true, { hdr.body.word }, hdr.body.sum, HashAlgorithm.csum16);
    }
}

control Answer(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        hdr.answer.setValid();
        hdr.answer.checksum_error = (bit<8>)std.checksum_error;
        hash(hdr.answer.hash, HashAlgorithm.crc32, 32w0, { hdr.request, hdr.body }, 33w0x100000000);
        std.egress_spec = std.ingress_port;
    }
}

control NoEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply { }
}

control Compute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control Deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(Parse(), Verify(), Answer(), NoEgress(), Compute(), Deparse()) main;
