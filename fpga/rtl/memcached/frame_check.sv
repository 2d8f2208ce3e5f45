// Finds frames that the kernel of their destination drops: with a wrong checksum of IPv4, UDP or TCP,
// with lengths that contradict each other, or cut short.
//
// The frame passes beside this module, which adds up two sums: that of the IPv4 header, and that of
// the pseudo header with all behind it. The verdict is known in the cycle after the last word, and
// stays until the next frame begins. Throughput: one word a cycle.
//
// What is not checked: the UDP checksum 0, which means none; what is behind the first 64 bytes of
// the frame and needed to find the checksum; fragments, IPv6 extensions and two VLAN tags, of which
// only the lengths and the IPv4 header are. Such a frame is never called corrupt for what is not
// checked. A UDP length that is shorter than the packet is allowed: kernels cut off the rest.
module frame_check #(
    parameter int BYTES = 32  // of a word: 32 or 64
) (
    input  logic               clk,
    input  logic               take,    // a word of a frame passes
    input  logic               first,   // it is the first one
    input  logic [511:0]       header,  // with it: the first 64 bytes of the frame
    input  logic [15:0]        length,  // with it: bytes of the frame
    input  logic [8*BYTES-1:0] data,
    output logic               corrupt  // the frame whose last word has passed
);
  localparam logic [15:0] MIN_TCP_BYTES = 16'd20;
  localparam logic [15:0] MIN_UDP_BYTES = 16'd8;
  localparam int MASK_BITS = $clog2(BYTES) + 1;

  // Where the sums begin and end, in bytes of the frame.
  typedef struct packed {
    logic        has_ip_sum;     // of an IPv4 header
    logic        has_data_sum;   // of UDP or TCP
    logic        bad_lengths;
    logic [15:0] ip_start;
    logic [15:0] ip_end;
    logic [15:0] address_start;
    logic [15:0] address_end;
    logic [15:0] data_start;
    logic [15:0] data_end;
  } layout_t;

  // ---- the headers -----------------------------------------------------------------------------
  logic         vlan;
  logic [15:0]  ethertype;
  logic [159:0] packet;        // the first 20 bytes of IPv4 or IPv6
  logic [15:0]  start;         // of it
  logic         ipv4;
  logic         ipv6;
  logic [15:0]  ip_bytes;      // of the IP header
  logic [15:0]  total;         // bytes of the packet
  logic [15:0]  rest;          // of them behind the IP header
  logic [7:0]   protocol;
  logic         whole;         // no fragment
  logic [15:0]  data_start;
  logic [3:0]   data_word;     // (data_start - 34) / 4
  logic [31:0]  udp_fields;    // length and checksum, as they are on the wire
  logic         udp_in_header; // they are within the first 64 bytes
  logic [15:0]  udp_length;
  logic         udp;
  logic         tcp;
  logic [15:0]  pseudo;        // sum of protocol and length
  layout_t      parsed;

  always_comb begin
    vlan          = 1'b0;
    ethertype     = '0;
    packet        = '0;
    start         = '0;
    ipv4          = 1'b0;
    ipv6          = 1'b0;
    ip_bytes      = '0;
    total         = '0;
    rest          = '0;
    protocol      = '0;
    whole         = 1'b0;
    data_start    = '0;
    data_word     = '0;
    udp_fields    = '0;
    udp_in_header = 1'b0;
    udp_length    = '0;
    udp           = 1'b0;
    tcp           = 1'b0;
    pseudo        = '0;
    parsed        = '0;
    if (take && first) begin
      vlan       = net_pkg::is_vlan(net_pkg::big_endian(header[12*8+:16]));
      ethertype  = net_pkg::big_endian(vlan ? header[16*8+:16] : header[12*8+:16]);
      packet     = vlan ? header[18*8+:160] : header[14*8+:160];
      start      = vlan ? 16'd18 : 16'd14;
      ipv4       = ethertype == net_pkg::TYPE_IPV4;
      ipv6       = ethertype == net_pkg::TYPE_IPV6;
      ip_bytes   = ipv6 ? 16'd40 : {10'd0, packet[3:0], 2'd0};
      total      = ipv6 ? net_pkg::big_endian(packet[4*8+:16]) + 16'd40 : net_pkg::big_endian(packet[2*8+:16]);
      rest       = total - ip_bytes;
      protocol   = ipv6 ? packet[6*8+:8] : packet[9*8+:8];
      whole      = ipv6 || {packet[6*8+:6], packet[7*8+:8]} == '0;
      data_start = start + ip_bytes;
      data_word  = 4'((data_start - 16'd34) >> 2);
      case (data_word)
        4'd0: udp_fields = header[38*8+:32];
        4'd1: udp_fields = header[42*8+:32];
        4'd2: udp_fields = header[46*8+:32];
        4'd3: udp_fields = header[50*8+:32];
        4'd4: udp_fields = header[54*8+:32];
        4'd5: udp_fields = header[58*8+:32];
        default: ;
      endcase
      udp_in_header = data_word <= 4'd5;
      udp_length    = net_pkg::big_endian(udp_fields[15:0]);
      udp           = (ipv4 || ipv6) && whole && protocol == net_pkg::PROTOCOL_UDP && udp_in_header;
      tcp           = (ipv4 || ipv6) && whole && protocol == net_pkg::PROTOCOL_TCP;
      pseudo        = udp ? {8'd0, net_pkg::PROTOCOL_UDP} + udp_length : {8'd0, net_pkg::PROTOCOL_TCP} + rest;

      parsed.has_ip_sum    = ipv4;
      parsed.has_data_sum  = tcp || (udp && udp_fields[31:16] != '0);
      parsed.bad_lengths   = ((ipv4 || ipv6)
              && (total < ip_bytes || {1'b0, start} + {1'b0, total} > {1'b0, length}))
          || (ipv4 && (packet[7:4] != 4'd4 || packet[3:0] < 4'd5))
          || (tcp && rest < MIN_TCP_BYTES)
          || (udp && (udp_length < MIN_UDP_BYTES || udp_length > rest));
      parsed.ip_start      = start;
      parsed.ip_end        = data_start;
      parsed.address_start = start + (ipv6 ? 16'd8 : 16'd12);
      parsed.address_end   = start + (ipv6 ? 16'd40 : 16'd20);
      parsed.data_start    = data_start;
      parsed.data_end      = data_start + (udp ? udp_length : rest);
    end
  end

  // ---- the sums --------------------------------------------------------------------------------
  layout_t                kept;       // of the frame
  layout_t                layout;     // of the frame of the word
  logic [15:0]            offset;     // of the word in the frame
  logic [15:0]            following;  // offset of the next one
  logic [BYTES-1:0]       in_header;
  logic [BYTES-1:0]       in_data;
  logic [8*BYTES-1:0]     header_window;
  logic [8*BYTES-1:0]     data_window;
  logic [15:0]            header_total;
  logic [15:0]            data_total;
  logic [15:0]            ip_sum;
  logic [15:0]            data_sum;

  assign offset = first ? 16'd0 : following;

  always_comb begin
    layout = kept;
    if (first) layout = parsed;
  end

  // Ones for the bytes of the word that are in front of `bound`.
  function automatic logic [BYTES-1:0] in_front_of(input logic [15:0] bound);
    logic [15:0] reach;
    reach = bound > offset ? bound - offset : 16'd0;
    in_front_of = ~(~BYTES'(0) << (reach > 16'(BYTES) ? MASK_BITS'(BYTES) : reach[MASK_BITS-1:0]));
  endfunction

  always_comb begin
    in_header     = '0;
    in_data       = '0;
    header_window = '0;
    data_window   = '0;
    if (take) begin
      in_header = in_front_of(layout.ip_end) & ~in_front_of(layout.ip_start);
      in_data   = (in_front_of(layout.address_end) & ~in_front_of(layout.address_start))
          | (in_front_of(layout.data_end) & ~in_front_of(layout.data_start));
      for (int i = 0; i < BYTES; i++) begin
        header_window[8*i+:8] = in_header[i] ? data[8*i+:8] : 8'd0;
        data_window[8*i+:8]   = in_data[i] ? data[8*i+:8] : 8'd0;
      end
    end
  end

  window_sum #(
      .BYTES(BYTES)
  ) header_adder (
      .enable(take),
      .window(header_window),
      .sum   (header_total)
  );

  window_sum #(
      .BYTES(BYTES)
  ) data_adder (
      .enable(take),
      .window(data_window),
      .sum   (data_total)
  );

  always_ff @(posedge clk) begin
    if (take) begin
      kept      <= layout;
      following <= offset + 16'(BYTES);
      ip_sum    <= net_pkg::add(first ? 16'd0 : ip_sum, header_total);
      data_sum  <= net_pkg::add(first ? pseudo : data_sum, data_total);
    end
  end

  // A sum that includes its checksum is 0 in one's complement: all ones.
  assign corrupt = kept.bad_lengths || (kept.has_ip_sum && ip_sum != 16'hffff)
      || (kept.has_data_sum && data_sum != 16'hffff);

  logic unused;
  assign unused = &{1'b0, header, packet, kept};
endmodule
