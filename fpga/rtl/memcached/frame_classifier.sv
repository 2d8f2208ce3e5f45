// Says what a frame is to the cache, from its first 64 bytes. Combinational. Without `enable` the
// kind is NORMAL, and a simulation skips the work.
//
//   from a client
//     QUERY    UDP to memcached, at most 2,048 bytes
//     OPAQUE   may change the data of a server, but the cache cannot read it: TCP payload to
//              memcached, UDP to it in a VLAN, to a group address or in a longer frame, any fragment
//              of TCP or UDP over IPv4, IPv4 options or IPv6 before TCP or UDP to memcached, headers
//              that hide the port (IPv6 extensions, two VLAN tags)
//     ORDERED  TCP without payload to memcached: where frames are queued by kind, it must not
//              overtake a segment that is OPAQUE
//   from a server
//     RESPONSE UDP from memcached, at most 2,048 bytes
//   all others are NORMAL
//
// QUERY and RESPONSE are Ethernet II frames with IPv4 and without options. A port is memcached's if
// it differs from `memcached_port` in bits of `port_mask` only.
module frame_classifier (
    input  logic                 enable,
    input  logic                 from_server,
    input  logic [15:0]          memcached_port,
    input  logic [15:0]          port_mask,
    input  logic [511:0]         header,  // the first 64 bytes of the frame
    input  logic [15:0]          length,
    output memcached_pkg::kind_t kind
);
  localparam logic [7:0] PROTOCOL_ICMPV6 = 8'd58;
  localparam logic [15:0] UDP_HEADERS = 16'd42;  // Ethernet, IPv4, UDP
  localparam logic [15:0] MAX_LENGTH = 16'd2048;  // of a frame that a cache reads

  logic         vlan;          // one tag
  logic [15:0]  ethertype;
  logic [367:0] packet;        // from the first byte of the IP header
  logic         ipv4;
  logic         ipv6;
  logic [3:0]   header_words;  // of 4 bytes: IHL
  logic [7:0]   protocol;
  logic         over_ports;    // TCP or UDP
  logic         fragment;
  logic [31:0]  ports;         // of TCP or UDP, as they are on the wire
  logic         to_memcached;
  logic         from_memcached;
  logic         plain;         // nothing that the cache cannot read
  logic         tcp_payload;

  always_comb begin
    kind           = memcached_pkg::KIND_NORMAL;
    vlan           = 1'b0;
    ethertype      = '0;
    packet         = '0;
    ipv4           = 1'b0;
    ipv6           = 1'b0;
    header_words   = '0;
    protocol       = '0;
    over_ports     = 1'b0;
    fragment       = 1'b0;
    ports          = '0;
    to_memcached   = 1'b0;
    from_memcached = 1'b0;
    plain          = 1'b0;
    tcp_payload    = 1'b0;
    if (enable) begin
      vlan         = net_pkg::is_vlan(net_pkg::big_endian(header[12*8+:16]));
      ethertype    = net_pkg::big_endian(vlan ? header[16*8+:16] : header[12*8+:16]);
      packet       = vlan ? header[18*8+:368] : header[14*8+:368];
      ipv4         = ethertype == net_pkg::TYPE_IPV4 && packet[7:4] == 4'd4;
      ipv6         = ethertype == net_pkg::TYPE_IPV6;
      header_words = packet[3:0];
      protocol     = ipv6 ? packet[6*8+:8] : packet[9*8+:8];
      over_ports   = protocol == net_pkg::PROTOCOL_TCP || protocol == net_pkg::PROTOCOL_UDP;
      fragment     = {packet[6*8+:6], packet[7*8+:8]} != '0;  // more fragments, or an offset

      case (header_words)
        4'd6: ports = packet[24*8+:32];
        4'd7: ports = packet[28*8+:32];
        4'd8: ports = packet[32*8+:32];
        4'd9: ports = packet[36*8+:32];
        4'd10: ports = packet[40*8+:32];
        default: ports = packet[20*8+:32];
      endcase
      if (ipv6) ports = packet[40*8+:32];

      to_memcached   = ((net_pkg::big_endian(ports[31:16]) ^ memcached_port) & ~port_mask) == '0;
      from_memcached = ((net_pkg::big_endian(ports[15:0]) ^ memcached_port) & ~port_mask) == '0;
      plain          = !vlan && ipv4 && header_words == 4'd5 && !fragment
          && protocol == net_pkg::PROTOCOL_UDP && length >= UDP_HEADERS;
      tcp_payload    = net_pkg::big_endian(packet[2*8+:16]) > 16'd20 + {10'd0, packet[32*8+4+:4], 2'd0};

      if (from_server) begin
        if (plain && from_memcached && length <= MAX_LENGTH) kind = memcached_pkg::KIND_RESPONSE;
      end else if (plain && to_memcached && !header[0] && length <= MAX_LENGTH) begin
        kind = memcached_pkg::KIND_QUERY;
      end else if (ipv4 && over_ports && header_words >= 4'd5) begin
        if (fragment || header_words > 4'd10) begin
          kind = memcached_pkg::KIND_OPAQUE;
        end else if (to_memcached) begin
          kind = protocol == net_pkg::PROTOCOL_UDP || header_words > 4'd5 || tcp_payload
              ? memcached_pkg::KIND_OPAQUE : memcached_pkg::KIND_ORDERED;
        end
      end else if (ipv6) begin
        case (protocol)
          net_pkg::PROTOCOL_TCP, net_pkg::PROTOCOL_UDP: if (to_memcached) kind = memcached_pkg::KIND_OPAQUE;
          // Hop-by-hop options are common before ICMPv6.
          8'd0: if (packet[40*8+:8] != PROTOCOL_ICMPV6) kind = memcached_pkg::KIND_OPAQUE;
          8'd43, 8'd44, 8'd60: kind = memcached_pkg::KIND_OPAQUE;
          default: ;
        endcase
      end else if (vlan && net_pkg::is_vlan(ethertype)) begin
        kind = memcached_pkg::KIND_OPAQUE;
      end
    end
  end

  logic unused;
  assign unused = &{1'b0, header, packet};
endmodule
