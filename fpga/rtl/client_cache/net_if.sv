// Network interface: gives frames from the network to the functions by their destination addresses.
//
// A frame goes to the function with its address and to all that are promiscuous; a frame to a group
// address goes to all. A reply of memcached goes to `reply_` of one function, whose controller reads
// it first: the one with its address, or else the only one that takes it. It goes past the
// controller if that has no room for it. A frame that no function takes is dropped and counted.
// Throughput: one word a cycle. Latency: two cycles.
module net_if #(
    parameter int FUNCTIONS = 1
) (
    input  logic                       clk,
    input  logic                       rst,

    input  logic [FUNCTIONS-1:0][47:0] mac,          // the first byte on the wire is mac[7:0]
    input  logic [FUNCTIONS-1:0]       promiscuous,
    input  logic [FUNCTIONS-1:0]       enable,       // the function uses the cache
    input  logic [15:0]                memcached_port,
    input  logic [15:0]                port_mask,
    input  logic [FUNCTIONS-1:0]       reply_room,   // for a frame of 32 words and one before it
    output logic [FUNCTIONS-1:0]       unread_reply, // pulses: there was no room
    output logic                       arrived,      // pulses: a frame came,
    output logic [15:0]                arrived_length,
    output logic                       unknown,      // nobody takes it
    output logic                       busy,

    input  logic                       s_valid,
    output logic                       s_ready,
    input  logic [511:0]               s_data,
    input  logic                       s_last,
    input  net_pkg::meta_t             s_meta,

    output logic [FUNCTIONS-1:0]       m_valid,      // to the functions
    input  logic [FUNCTIONS-1:0]       m_ready,
    output logic [FUNCTIONS-1:0]       reply_valid,  // to their controllers
    input  logic [FUNCTIONS-1:0]       reply_ready,
    output logic [511:0]               m_data,       // for all of them
    output logic                       m_last,
    output net_pkg::meta_t             m_meta
);
  memcached_pkg::kind_t    kind;
  logic                    first;       // the next word begins a frame
  logic [FUNCTIONS-1:0]    owner;       // has the address
  logic [FUNCTIONS-1:0]    takers;
  logic [FUNCTIONS-1:0]    reader;      // whose controller reads it
  logic [2*FUNCTIONS-1:0]  select;
  logic [2*FUNCTIONS-1:0]  out_valid;

  logic                    held_valid;
  logic                    held_ready;
  logic [511:0]            held_data;
  logic                    held_last;
  net_pkg::meta_t          held_meta;
  logic [2*FUNCTIONS-1:0]  held_select;

  frame_classifier classifier (
      .enable      (enable != '0 && s_valid && first),
      .from_server (1'b1),
      .memcached_port,
      .port_mask,
      .header      (s_data),
      .length      (s_meta.length),
      .kind
  );

  for (genvar i = 0; i < FUNCTIONS; i++) begin : each
    assign owner[i] = s_data[47:0] == mac[i];
  end

  always_comb begin
    takers = s_data[0] ? '1 : owner | promiscuous;
    reader = '0;
    if (kind == memcached_pkg::KIND_RESPONSE && !s_data[0]) begin
      if (owner != '0) reader = owner & (~owner + 1'b1);
      else if ((promiscuous & (promiscuous - 1'b1)) == '0) reader = promiscuous;
      reader = reader & enable;
    end
    select = {reader & reply_room, takers & ~(reader & reply_room)};
  end

  assign s_ready = !held_valid || held_ready;

  always_ff @(posedge clk) begin
    if (s_ready) begin
      held_data <= s_data;
      held_last <= s_last;
      held_meta <= s_meta;
      held_meta.source <= 8'(reader);
      if (first) begin
        held_select <= select;
      end else begin
        held_meta.source <= held_meta.source;
      end
    end
    unread_reply   <= s_valid && s_ready && first && !rst ? reader & ~reply_room : '0;
    unknown        <= s_valid && s_ready && first && !rst && takers == '0;
    arrived        <= s_valid && s_ready && s_last && !rst;
    arrived_length <= s_meta.length;
    if (rst) begin
      held_valid <= 1'b0;
      first      <= 1'b1;
    end else begin
      if (s_ready) held_valid <= s_valid;
      if (s_valid && s_ready) first <= s_last;
    end
  end

  frame_demux #(
      .PORTS(2 * FUNCTIONS),
      .BYTES(64)
  ) demux (
      .clk,
      .rst,
      .s_valid (held_valid),
      .s_ready (held_ready),
      .s_data  (held_data),
      .s_last  (held_last),
      .s_meta  (held_meta),
      .s_select(held_select),
      .m_valid (out_valid),
      .m_ready ({reply_ready, m_ready}),
      .m_data,
      .m_last,
      .m_meta
  );

  assign m_valid     = out_valid[FUNCTIONS-1:0];
  assign reply_valid = out_valid[2*FUNCTIONS-1:FUNCTIONS];
  assign busy        = s_valid || held_valid || out_valid != '0;
endmodule
