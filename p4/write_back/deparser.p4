/* Emits the headers in wire order. */

control NetkvDeparser(packet_out packet, in headers_t hdr) {
    TransportDeparser() transport;

    apply {
        transport.apply(packet, hdr);
        packet.emit(hdr.kv);
        packet.emit(hdr.version_stamp);
        packet.emit(hdr.slot);
        packet.emit(hdr.value);
    }
}
