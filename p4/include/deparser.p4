/* Headers in wire order. packet_out is never emitted: it ends at the switch. */
#ifndef NETKV_DEPARSER_P4
#define NETKV_DEPARSER_P4

control NetkvDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.udp);
        packet.emit(hdr.NETKV_HEADER);
#ifdef NETKV_CACHE
        packet.emit(hdr.mark);
        packet.emit(hdr.value);
#endif
#ifdef NETKV_WRITE_BACK
        packet.emit(hdr.stamp);
        packet.emit(hdr.place);
        packet.emit(hdr.value);
#endif
    }
}

#endif
