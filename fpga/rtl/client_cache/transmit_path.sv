// The way of a function's frames: those for the cache to a queue before the controllers, all others
// to a queue before the network.
//
//   s_ --> classifier --> normal queue ------------------------+--> net_
//                    \--> request queue --> kv_ (controllers)  |
//                         forward_ (controllers) --> queue ----+
//
// Frames in the normal queue wait for no controller. A frame for the cache that finds its queue full
// waits, and the function's frames behind it; or it is dropped and counted (`drop_requests`).
// Queues offer whole frames, so what takes them never waits for the function.
module transmit_path #(
    parameter int DEPTH = 512,  // words of a queue; more than the longest frame
    localparam int META_BITS = net_pkg::META_BITS + memcached_pkg::KIND_BITS
) (
    input  logic                    clk,
    input  logic                    rst,

    input  logic                    enable,  // the function uses the cache
    input  logic                    drop_requests,
    input  logic [15:0]             memcached_port,
    input  logic [15:0]             port_mask,
    input  logic [7:0]              source,  // the function, one-hot; constant
    output logic                    busy,
    output logic                    sent,            // pulses: a frame came from the function,
    output logic [15:0]             sent_length,
    output logic                    request_dropped, // a request was dropped
    output logic [$clog2(DEPTH):0]  forward_level,   // words in the queue of forwarded frames

    input  logic                    s_valid,
    output logic                    s_ready,
    input  logic [511:0]            s_data,
    input  logic                    s_last,
    input  net_pkg::meta_t          s_meta,

    output logic                    kv_valid,
    input  logic                    kv_ready,
    output logic [511:0]            kv_data,
    output logic                    kv_last,
    output logic [META_BITS-1:0]    kv_meta,  // {kind, meta}

    input  logic                    forward_valid,
    output logic                    forward_ready,
    input  logic [511:0]            forward_data,
    input  logic                    forward_last,
    input  net_pkg::meta_t          forward_meta,

    output logic                    net_valid,
    input  logic                    net_ready,
    output logic [511:0]            net_data,
    output logic                    net_last,
    output net_pkg::meta_t          net_meta
);
  localparam int LEVEL_BITS = $clog2(DEPTH) + 1;

  // ---- a word with the kind of its frame -------------------------------------------------------
  memcached_pkg::kind_t    kind;
  logic                    next_first;  // the next word from s_ begins a frame
  logic                    held_valid;
  logic                    held_first;
  logic [511:0]            held_data;
  logic                    held_last;
  net_pkg::meta_t          held_meta;
  memcached_pkg::kind_t    held_kind;
  logic                    held_taken;
  logic                    to_cache;

  frame_classifier classifier (
      .enable      (enable && s_valid && next_first),
      .from_server (1'b0),
      .memcached_port,
      .port_mask,
      .header      (s_data),
      .length      (s_meta.length),
      .kind
  );

  assign s_ready  = !held_valid || held_taken;
  assign to_cache = held_kind != memcached_pkg::KIND_NORMAL;

  always_ff @(posedge clk) begin
    if (s_ready) begin
      held_data  <= s_data;
      held_last  <= s_last;
      held_first <= next_first;
      held_meta  <= s_meta;
      held_meta.source <= source;
      if (next_first) held_kind <= kind;
    end
    sent        <= s_valid && s_ready && s_last && !rst;
    sent_length <= s_meta.length;
    if (rst) begin
      held_valid <= 1'b0;
      next_first <= 1'b1;
    end else begin
      if (s_ready) held_valid <= s_valid;
      if (s_valid && s_ready) next_first <= s_last;
    end
  end

  // ---- queues ----------------------------------------------------------------------------------
  logic                  request_ready;
  logic                  normal_ready;
  logic                  room;        // for the whole frame in the queue of requests
  logic                  discarding;  // the rest of a dropped frame
  logic                  discard;
  logic [LEVEL_BITS-1:0] request_level;
  logic [LEVEL_BITS-1:0] normal_level;
  logic [1:0]            net_in_valid;
  logic [1:0]            net_in_ready;
  logic [1:0][511:0]     net_in_data;
  logic [1:0]            net_in_last;
  logic [1:0][net_pkg::META_BITS-1:0] net_in_meta;
  logic [1:0]            net_port;
  logic [2:0][31:0]      accepted;
  logic [2:0][31:0]      dropped;

  assign room = 16'(request_level) + client_cache_pkg::words_of(held_meta.length) <= 16'(DEPTH);
  assign discard = to_cache && drop_requests && (held_first ? !room : discarding);
  assign held_taken = discard || (to_cache ? request_ready : normal_ready);

  always_ff @(posedge clk) begin
    if (rst) discarding <= 1'b0;
    else if (held_valid && held_taken) discarding <= discard && !held_last;
    request_dropped <= held_valid && discard && held_first && !rst;
  end

  frame_fifo #(
      .BYTES(64),
      .META_BITS(META_BITS),
      .DEPTH(DEPTH)
  ) requests (
      .clk,
      .rst,
      .s_valid (held_valid && to_cache && !discard),
      .s_ready (request_ready),
      .s_data  (held_data),
      .s_last  (held_last),
      .s_meta  ({held_kind, held_meta}),
      .m_valid (kv_valid),
      .m_ready (kv_ready),
      .m_data  (kv_data),
      .m_last  (kv_last),
      .m_meta  (kv_meta),
      .level   (request_level),
      .accepted(accepted[0]),
      .dropped (dropped[0])
  );

  frame_fifo #(
      .BYTES(64),
      .DEPTH(DEPTH)
  ) normal (
      .clk,
      .rst,
      .s_valid (held_valid && !to_cache),
      .s_ready (normal_ready),
      .s_data  (held_data),
      .s_last  (held_last),
      .s_meta  (held_meta),
      .m_valid (net_in_valid[0]),
      .m_ready (net_in_ready[0]),
      .m_data  (net_in_data[0]),
      .m_last  (net_in_last[0]),
      .m_meta  (net_in_meta[0]),
      .level   (normal_level),
      .accepted(accepted[1]),
      .dropped (dropped[1])
  );

  frame_fifo #(
      .BYTES(64),
      .DEPTH(DEPTH)
  ) forwards (
      .clk,
      .rst,
      .s_valid (forward_valid),
      .s_ready (forward_ready),
      .s_data  (forward_data),
      .s_last  (forward_last),
      .s_meta  (forward_meta),
      .m_valid (net_in_valid[1]),
      .m_ready (net_in_ready[1]),
      .m_data  (net_in_data[1]),
      .m_last  (net_in_last[1]),
      .m_meta  (net_in_meta[1]),
      .level   (forward_level),
      .accepted(accepted[2]),
      .dropped (dropped[2])
  );

  frame_mux #(
      .PORTS(2),
      .BYTES(64)
  ) both (
      .clk,
      .rst,
      .s_valid(net_in_valid),
      .s_ready(net_in_ready),
      .s_data (net_in_data),
      .s_last (net_in_last),
      .s_meta (net_in_meta),
      .m_valid(net_valid),
      .m_ready(net_ready),
      .m_data (net_data),
      .m_last (net_last),
      .m_meta (net_meta),
      .m_port (net_port)
  );

  assign busy = s_valid || held_valid || kv_valid || net_valid || net_in_valid != '0
      || request_level != '0 || normal_level != '0 || forward_level != '0;

  logic unused;
  assign unused = &{1'b0, net_port, accepted, dropped};
endmodule
