// Output Port Lookup (paper, figure 2): sets the destination of each frame.
// Throughput: one word a cycle. Latency: two cycles.
//
//   FORWARD_NIC     network port -> host; host -> learned network port, else all network ports
//   FORWARD_SWITCH  learned port, else all others; nothing if that is where the frame came from
//
// A destination that is set already stays (replies of LaKe). The table of MAC addresses learns from
// all other frames; a new address replaces the entry that was learned first.
module output_port_lookup #(
    parameter int NETWORK_PORTS = 4,  // the host port is the next one
    parameter int BYTES = 32,
    parameter int ENTRIES = 64        // a power of two
) (
    input  logic                     clk,
    input  logic                     rst,

    input  netfpga_pkg::forwarding_t forwarding,

    input  logic                     s_valid,
    output logic                     s_ready,
    input  logic [8*BYTES-1:0]       s_data,
    input  logic                     s_last,
    input  net_pkg::meta_t           s_meta,
    input  logic                     s_drop_eligible,

    output logic                     m_valid,
    input  logic                     m_ready,
    output logic [8*BYTES-1:0]       m_data,
    output logic                     m_last,
    output net_pkg::meta_t           m_meta,
    output logic                     m_drop_eligible
);
  localparam logic [7:0] NETWORK = 8'((1 << NETWORK_PORTS) - 1);
  localparam logic [7:0] HOST = 8'(1 << NETWORK_PORTS);
  localparam logic [15:0] ETHERNET_HEADER = 16'd14;

  // ---- table of MAC addresses (bytes as they are on the wire) ----------------------------------
  logic [ENTRIES-1:0]         entry_valid;
  logic [47:0]                entry_address[ENTRIES];
  logic [7:0]                 entry_port[ENTRIES];
  logic [$clog2(ENTRIES)-1:0] oldest;

  logic [47:0]                destination;
  logic [47:0]                source;
  logic                       first;  // the next word from s_ begins a frame
  logic                       parse;
  logic                       learn;
  logic [ENTRIES-1:0]         source_hits;
  logic [$clog2(ENTRIES)-1:0] learned;  // the entry that is written

  assign destination = s_data[47:0];
  assign source      = s_data[95:48];
  assign parse       = s_valid && s_ready && first && s_meta.length >= ETHERNET_HEADER;
  assign learn       = parse && s_meta.destination == '0 && !source[0];

  // The comparisons are in a function and called for first words only: simulation skips the rest.
  function automatic logic [ENTRIES-1:0] match(input logic [47:0] mac);
    for (int i = 0; i < ENTRIES; i++) begin
      match[i] = entry_valid[i] && entry_address[i] == mac;
    end
  endfunction

  // The place of the entry in `hits`; an address has at most one.
  function automatic logic [$clog2(ENTRIES)-1:0] place(input logic [ENTRIES-1:0] hits);
    place = '0;
    for (int i = 0; i < ENTRIES; i++) if (hits[i]) place |= $clog2(ENTRIES)'(i);
  endfunction

  function automatic logic [7:0] port_of(input logic [ENTRIES-1:0] hits);
    port_of = hits != '0 ? entry_port[place(hits)] : 8'd0;
  endfunction

  always_comb begin
    source_hits = '0;
    if (learn) source_hits = match(source);
    learned = source_hits != '0 ? place(source_hits) : oldest;
  end

  always_ff @(posedge clk) begin
    if (learn) begin
      entry_address[learned] <= source;
      entry_port[learned]    <= s_meta.source;
    end
    if (rst) begin
      entry_valid <= '0;
      oldest      <= '0;
    end else if (learn && source_hits == '0) begin
      entry_valid[oldest] <= 1'b1;
      oldest              <= oldest + 1'b1;
    end
  end

  // ---- two stages: look up, then decide --------------------------------------------------------
  logic               found_valid;
  logic               found_ready;
  logic [8*BYTES-1:0] found_data;
  logic               found_last;
  net_pkg::meta_t     found_meta;
  logic               found_drop_eligible;
  logic [7:0]         known;  // the port of the destination; 0: not learned

  assign found_ready = !m_valid || m_ready;
  assign s_ready     = !found_valid || found_ready;

  function automatic logic [7:0] decide();
    if (found_meta.destination != '0) begin
      decide = found_meta.destination;
    end else if (forwarding == netfpga_pkg::FORWARD_SWITCH) begin
      decide = (known != '0 ? known : NETWORK | HOST) & ~found_meta.source;
    end else if ((found_meta.source & NETWORK) != '0) begin
      decide = HOST;
    end else begin
      decide = (known & NETWORK) != '0 ? known & NETWORK : NETWORK;
    end
  endfunction

  always_ff @(posedge clk) begin
    if (s_valid && s_ready) begin
      found_data          <= s_data;
      found_last          <= s_last;
      found_meta          <= s_meta;
      found_drop_eligible <= s_drop_eligible;
      // A frame whose destination is set needs none.
      if (first) known <= parse && s_meta.destination == '0 ? port_of(match(destination)) : '0;
    end
    if (found_valid && found_ready) begin
      m_data             <= found_data;
      m_last             <= found_last;
      m_meta.length      <= found_meta.length;
      m_meta.source      <= found_meta.source;
      m_meta.destination <= decide();
      m_drop_eligible    <= found_drop_eligible;
    end
    if (rst) begin
      found_valid <= 1'b0;
      m_valid     <= 1'b0;
      first       <= 1'b1;
    end else begin
      if (s_ready) found_valid <= s_valid;
      if (found_ready) m_valid <= found_valid;
      if (s_valid && s_ready) first <= s_last;
    end
  end
endmodule
