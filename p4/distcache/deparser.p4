/* Emits the headers in wire order. */

control NetkvDeparser(packet_out packet, in headers_t hdr) {
    TransportDeparser() transport;

    apply {
        transport.apply(packet, hdr);
        packet.emit(hdr.kv);
        packet.emit(hdr.cache_metadata);
        packet.emit(hdr.load);
        packet.emit(hdr.value);
    }
}
