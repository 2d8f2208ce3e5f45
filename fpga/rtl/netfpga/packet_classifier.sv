// Packet Classifier (paper, section II-B, figure 2): finds the frames for LaKe.
// Throughput: one word a cycle. Latency: two cycles (the second word of a frame decides).
//
//   QUERY     UDP to memcached_port, from a port without servers
//   RESPONSE  UDP from memcached_port, from a port with servers
//   OPAQUE    from a port without servers, may change the data of a server, but LaKe cannot read
//             it: TCP payload to memcached_port, UDP to it in a VLAN or to a group address, any
//             fragment of TCP or UDP over IPv4, IPv4 options or IPv6 before TCP or UDP to
//             memcached_port, headers that hide the port (IPv6 extensions, two VLAN tags).
//   NORMAL    all others, and every frame while the cache is off
//
// QUERY and RESPONSE are Ethernet II frames with IPv4 and without options. `foreign_write` is high
// for one cycle when an OPAQUE frame passes, and when the cache is switched on: what LaKe holds may
// be stale.
module packet_classifier #(
    parameter int BYTES = 32,       // 32 or 64
    parameter int WINDOW_LOG2 = 16  // of the rate of queries, in cycles
) (
    input  logic                     clk,
    input  logic                     rst,

    input  netfpga_pkg::cache_mode_t mode,
    input  logic [15:0]              memcached_port,
    input  logic [7:0]               server_ports,  // mask; the host port of a NIC
    input  logic [31:0]              threshold_on,  // queries in a window, for CACHE_ADAPTIVE
    input  logic [31:0]              threshold_off,
    output logic                     enabled,
    output logic [31:0]              rate,          // queries in the last window, in every mode
    output logic                     foreign_write,
    input  logic [31:0]              skip = '0,     // further cycles that pass; see rate_monitor

    input  logic                     s_valid,
    output logic                     s_ready,
    input  logic [8*BYTES-1:0]       s_data,
    input  logic                     s_last,
    input  net_pkg::meta_t           s_meta,

    output logic                     m_valid,
    input  logic                     m_ready,
    output logic [8*BYTES-1:0]       m_data,
    output logic                     m_last,
    output net_pkg::meta_t           m_meta,
    output lake_pkg::kind_t          m_kind
);
  localparam logic [15:0] TYPE_IPV4 = 16'h0800;
  localparam logic [15:0] TYPE_IPV6 = 16'h86dd;
  localparam logic [15:0] TYPE_VLAN = 16'h8100;
  localparam logic [15:0] TYPE_SERVICE_VLAN = 16'h88a8;
  localparam logic [7:0] PROTOCOL_TCP = 8'd6;
  localparam logic [7:0] PROTOCOL_UDP = 8'd17;
  localparam logic [7:0] PROTOCOL_ICMPV6 = 8'd58;
  localparam logic [15:0] UDP_HEADERS = 16'd42;  // Ethernet, IPv4, UDP

  // ---- a frame's first word waits for its second -----------------------------------------------
  logic               held_valid;
  logic [8*BYTES-1:0] held_data;
  logic               held_first;
  logic               held_last;
  net_pkg::meta_t     held_meta;
  logic               next_first;  // the next word from s_ begins a frame
  logic               advance;     // of the held word to m_
  logic               decide;      // the kind of the frame of the held word
  logic [511:0]       header;      // the first 64 bytes; 0 without `decide`

  assign advance = held_valid && (!m_valid || m_ready)
      && (!held_first || held_last || s_valid || BYTES >= 64);
  assign s_ready = !held_valid || advance;

  assign decide  = advance && held_first;

  // All that depends on the header is computed when it decides: a simulation skips it in all other
  // cycles.
  if (BYTES >= 64) begin : one_word
    always_comb begin
      header = '0;
      if (decide) header = held_data[511:0];
    end
  end else begin : two_words
    always_comb begin
      header = '0;
      if (decide) header = {held_last ? 256'd0 : s_data[255:0], held_data[255:0]};
    end
  end

  // ---- what is in the header -------------------------------------------------------------------
  function automatic logic [15:0] big_endian(input logic [15:0] bytes);
    big_endian = {bytes[7:0], bytes[15:8]};
  endfunction

  function automatic logic is_vlan(input logic [15:0] value);
    is_vlan = value == TYPE_VLAN || value == TYPE_SERVICE_VLAN;
  endfunction

  lake_pkg::kind_t kind;

  // The kind of the frame in `header`. (yosys takes a function without arguments for a constant if
  // it calls others.)
  function automatic lake_pkg::kind_t classify(input net_pkg::meta_t meta);
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
    logic         plain;         // QUERY and RESPONSE: nothing that LaKe cannot read
    logic         tcp_payload;
    logic         from_server;
    logic         unused;

    vlan         = is_vlan(big_endian(header[12*8+:16]));
    ethertype    = big_endian(vlan ? header[16*8+:16] : header[12*8+:16]);
    packet       = vlan ? header[18*8+:368] : header[14*8+:368];
    ipv4         = ethertype == TYPE_IPV4 && packet[7:4] == 4'd4;
    ipv6         = ethertype == TYPE_IPV6;
    header_words = packet[3:0];
    protocol     = ipv6 ? packet[6*8+:8] : packet[9*8+:8];
    over_ports   = protocol == PROTOCOL_TCP || protocol == PROTOCOL_UDP;
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

    to_memcached = big_endian(ports[31:16]) == memcached_port;
    from_server  = (meta.source & server_ports) != '0;
    plain        = !vlan && ipv4 && header_words == 4'd5 && !fragment
        && protocol == PROTOCOL_UDP && meta.length >= UDP_HEADERS;
    tcp_payload  = big_endian(packet[2*8+:16]) > 16'd20 + {10'd0, packet[32*8+4+:4], 2'd0};

    classify = lake_pkg::KIND_NORMAL;
    if (from_server) begin
      if (plain && big_endian(ports[15:0]) == memcached_port) classify = lake_pkg::KIND_RESPONSE;
    end else if (plain && to_memcached && !header[0]) begin
      classify = lake_pkg::KIND_QUERY;
    end else if (ipv4 && over_ports && header_words >= 4'd5) begin
      if (fragment || header_words > 4'd10)
        classify = mutant_pkg::ID == 25 ? lake_pkg::KIND_NORMAL : lake_pkg::KIND_OPAQUE;
      else if (to_memcached && (protocol == PROTOCOL_UDP || header_words > 4'd5 || tcp_payload))
        classify = lake_pkg::KIND_OPAQUE;
    end else if (ipv6) begin
      case (protocol)
        PROTOCOL_TCP, PROTOCOL_UDP: if (to_memcached) classify = lake_pkg::KIND_OPAQUE;
        // Hop-by-hop options are common before ICMPv6.
        8'd0: if (packet[40*8+:8] != PROTOCOL_ICMPV6) classify = lake_pkg::KIND_OPAQUE;
        8'd43, 8'd44, 8'd60: classify = lake_pkg::KIND_OPAQUE;
        default: ;
      endcase
    end else if (vlan && is_vlan(ethertype)) begin
      classify = lake_pkg::KIND_OPAQUE;
    end
    unused = &{1'b0, packet, meta};
  endfunction

  always_comb begin
    kind = lake_pkg::KIND_NORMAL;
    if (decide) kind = classify(held_meta);
  end

  always_ff @(posedge clk) begin
    if (s_valid && s_ready) begin
      held_data  <= s_data;
      held_first <= next_first;
      held_last  <= s_last;
      held_meta  <= s_meta;
    end
    if (advance) begin
      m_data <= held_data;
      m_last <= held_last;
      m_meta <= held_meta;
    end
    if (decide) m_kind <= enabled ? kind : lake_pkg::KIND_NORMAL;
    if (rst) begin
      held_valid <= 1'b0;
      m_valid    <= 1'b0;
      next_first <= 1'b1;
    end else begin
      if (s_ready) held_valid <= s_valid;
      if (!m_valid || m_ready) m_valid <= advance;
      if (s_valid && s_ready) next_first <= s_last;
    end
  end

  // ---- off, on, or on demand -------------------------------------------------------------------
  logic busy;
  logic enable;

  rate_monitor #(
      .WINDOW_LOG2(WINDOW_LOG2)
  ) monitor (
      .clk,
      .rst,
      .count(decide && kind == lake_pkg::KIND_QUERY),
      .skip,
      .threshold_on,
      .threshold_off,
      .high (busy),
      .rate
  );

  assign enable = mode == netfpga_pkg::CACHE_ON || (mode == netfpga_pkg::CACHE_ADAPTIVE && busy);

  always_ff @(posedge clk) begin
    if (rst) begin
      enabled       <= 1'b0;
      foreign_write <= 1'b0;
    end else begin
      enabled       <= enable;
      foreign_write <= (enable && !enabled && mutant_pkg::ID != 26)
          || (decide && enabled && kind == lake_pkg::KIND_OPAQUE && mutant_pkg::ID != 24);
    end
  end

  logic unused;
  assign unused = &{1'b0, header};
endmodule
