/* Parses a value of up to 128 bytes: as many chunks as its length needs. */

/* header_bytes: from the UDP header to the value. */
parser ValueParser(packet_in packet, inout headers_t hdr, inout metadata_t meta,
                   in bit<16> header_bytes) {
    bit<16> padded = 0; // length of the value in whole chunks

    state start {
        meta.incoming.fits = true;
        meta.incoming.length = hdr.kv.length;
        padded = hdr.kv.length + (CHUNK_BYTES - 1);
        meta.incoming.chunks = padded[11:4];
        padded = padded & ~(CHUNK_BYTES - 1);
        verify(hdr.udp.length >= header_bytes + padded, error.LengthsDisagree);
        meta.reply_bytes = hdr.udp.length - padded;
        transition select(meta.incoming.chunks) { 0: accept; default: chunk0; }
    }
    state chunk0 {
        packet.extract(hdr.value[0]);
        transition select(meta.incoming.chunks) { 1: accept; default: chunk1; }
    }
    state chunk1 {
        packet.extract(hdr.value[1]);
        transition select(meta.incoming.chunks) { 2: accept; default: chunk2; }
    }
    state chunk2 {
        packet.extract(hdr.value[2]);
        transition select(meta.incoming.chunks) { 3: accept; default: chunk3; }
    }
    state chunk3 {
        packet.extract(hdr.value[3]);
        transition select(meta.incoming.chunks) { 4: accept; default: chunk4; }
    }
    state chunk4 {
        packet.extract(hdr.value[4]);
        transition select(meta.incoming.chunks) { 5: accept; default: chunk5; }
    }
    state chunk5 {
        packet.extract(hdr.value[5]);
        transition select(meta.incoming.chunks) { 6: accept; default: chunk6; }
    }
    state chunk6 {
        packet.extract(hdr.value[6]);
        transition select(meta.incoming.chunks) { 7: accept; default: chunk7; }
    }
    state chunk7 {
        packet.extract(hdr.value[7]);
        transition accept;
    }
}
