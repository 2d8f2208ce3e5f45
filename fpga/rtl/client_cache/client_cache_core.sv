// The client-side cache without its host interface: streams of frames of FUNCTIONS functions on one
// side, a network port on the other. With CONTROLLERS = 0 it is a plain NIC.
//
//   s_[f] --> transmit path --+-- all other frames ----------------> scheduler --> tx_
//                             +-- requests --> scheduler --> kv_controller --^
//                                                  ^           | replies
//                             +-- replies ---------+           v
//   rx_   --> net_if ---------+-- all other frames ----> receive path --> m_[f]
//
// The controller of a function is that of its group. A scheduler before each controller lets a
// request in if the frame that follows from it has room, so that a controller never waits for a
// function or for the network, and a stalled function does not block another.
module client_cache_core #(
    parameter int FUNCTIONS = 1,      // 1 to 8
    parameter int CONTROLLERS = 1,    // 0 to FUNCTIONS
    parameter int INDEX_BITS = 16,
    parameter int KEY_BYTES = 64,
    parameter int VALUE_BYTES = 512,
    parameter int MISS_ENTRIES = 256, // of a controller
    parameter int PRESCALE = 10       // a unit of time has 2^PRESCALE cycles
) (
    input  logic                            clk,
    input  logic                            rst,

    // For simulations: while `idle` is high, `skip` further cycles may pass with this one, up to
    // `unit_left`. No timer does anything in them.
    input  logic [31:0]                     skip,
    output logic                            idle,
    output logic [PRESCALE-1:0]             unit_left,   // cycles

    input  logic [15:0]                     reg_address,
    input  logic                            reg_write,
    input  logic [31:0]                     reg_wdata,
    input  logic                            reg_read,
    output logic [31:0]                     reg_rdata,

    output logic [FUNCTIONS-1:0][47:0]      mac,
    output logic [FUNCTIONS-1:0]            link_up,
    input  logic                            host_busy,   // frames are on their way in the functions
    input  logic [FUNCTIONS-1:0][client_cache_pkg::FUNCTION_STATUSES-1:0][31:0] function_status,

    input  logic [FUNCTIONS-1:0]            s_valid,     // from the functions
    output logic [FUNCTIONS-1:0]            s_ready,
    input  logic [FUNCTIONS-1:0][511:0]     s_data,
    input  logic [FUNCTIONS-1:0]            s_last,
    input  logic [FUNCTIONS-1:0][net_pkg::META_BITS-1:0] s_meta,

    output logic [FUNCTIONS-1:0]            m_valid,     // to the functions
    input  logic [FUNCTIONS-1:0]            m_ready,
    output logic [FUNCTIONS-1:0][511:0]     m_data,
    output logic [FUNCTIONS-1:0]            m_last,
    output logic [FUNCTIONS-1:0][net_pkg::META_BITS-1:0] m_meta,

    input  logic                            rx_valid,    // from the network
    output logic                            rx_ready,
    input  logic [511:0]                    rx_data,
    input  logic                            rx_last,
    input  logic [15:0]                     rx_meta_length,

    output logic                            tx_valid,    // to the network
    input  logic                            tx_ready,
    output logic [511:0]                    tx_data,
    output logic                            tx_last,
    output logic [15:0]                     tx_meta_length
);
  localparam int C = CONTROLLERS == 0 ? 1 : CONTROLLERS;  // elements of arrays
  localparam int KV_META_BITS = net_pkg::META_BITS + memcached_pkg::KIND_BITS;
  localparam int DEPTH = 512;        // words of a queue
  localparam int REPLY_DEPTH = 128;
  // Three frames of a function may be on their way to its queue.
  localparam int FORWARD_LIMIT = DEPTH - 3 * client_cache_pkg::MAX_FRAME_WORDS;
  localparam int REPLY_LIMIT = REPLY_DEPTH - client_cache_pkg::FRAME_WORDS - 8;

  // ---- registers -------------------------------------------------------------------------------
  localparam int STATUSES = 13;

  logic                         on;
  logic                         cache_on;
  logic                         was_on;
  client_cache_pkg::settings_t  settings;
  logic                         drop_requests;
  logic [15:0]                  memcached_port;
  logic [15:0]                  port_mask;
  logic [31:0]                  lifetime;
  logic [FUNCTIONS-1:0]         promiscuous;
  logic [FUNCTIONS-1:0][client_cache_pkg::FUNCTION_BITS-1:0] groups;
  logic [FUNCTIONS-1:0][15:0]   weight;
  logic [FUNCTIONS-1:0][15:0]   rate;
  logic [FUNCTIONS-1:0][8:0]    quota;
  logic [FUNCTIONS-1:0][3:0]    controller;
  logic [FUNCTIONS-1:0][15:0]   slice_base;
  logic [FUNCTIONS-1:0][15:0]   slice_mask;
  logic                         invalidate;
  logic                         clear_flushes;
  logic [31:0]                  elapsed;
  logic                         reconfigured;
  logic                         foreign_write;
  logic [STATUSES-1:0][31:0]    status;
  logic [FUNCTIONS-1:0][client_cache_pkg::COUNTERS-1:0][31:0] counters;
  logic [FUNCTIONS-1:0][31:0]   group_epochs;
  logic [FUNCTIONS-1:0][31:0]   group_state;

  client_cache_registers #(
      .FUNCTIONS   (FUNCTIONS),
      .CONTROLLERS (CONTROLLERS),
      .MISS_ENTRIES(MISS_ENTRIES),
      .STATUSES    (STATUSES)
  ) registers (
      .clk,
      .rst,
      .reg_address,
      .reg_write,
      .reg_wdata,
      .reg_read,
      .reg_rdata(main_rdata),
      .cache_on(on),
      .settings,
      .drop_requests,
      .memcached_port,
      .port_mask,
      .lifetime,
      .promiscuous,
      .link_up,
      .mac,
      .groups,
      .weight,
      .rate,
      .quota,
      .controller,
      .slice_base,
      .slice_mask,
      .invalidate,
      .clear_flushes,
      .elapsed,
      .reconfigured,
      .status,
      .counters,
      .epochs(group_epochs),
      .group_state,
      .function_status
  );

  // Those of delayed flushes, from address 0x400: units in a second; clocks differ by 1 / 2^accuracy at
  // most; a write of the time of day. The others are read only.
  localparam logic [15:0] FLUSH_BASE = 16'h0400;
  localparam int FLUSH_CONTROLS = 3;
  localparam int FLUSH_STATUSES = 4;
  localparam logic [31:0] DEFAULT_SECOND = 32'd244_141;  // 250 MHz
  localparam logic [31:0] DEFAULT_ACCURACY = 32'd10;

  logic [31:0]                     main_rdata;
  logic [31:0]                     flush_rdata;
  logic [FLUSH_CONTROLS-1:0][31:0] flush_control;
  logic [FLUSH_STATUSES-1:0][31:0] flush_status;
  logic                            wall_write;
  logic [C-1:0][31:0]              wall_now;
  logic [C-1:0][31:0]              flushes_under_way;
  logic [C-1:0]                    flush_dropped;
  logic [C-1:0]                    ignores;
  logic [31:0]                     all_flushes;
  logic [31:0]                     flushes_dropped;
  logic [31:0]                     ignored;

  register_file #(
      .CONTROLS(FLUSH_CONTROLS),
      .STATUSES(FLUSH_STATUSES),
      .RESET({32'd0, DEFAULT_ACCURACY, DEFAULT_SECOND})
  ) flush_registers (
      .clk,
      .rst,
      .address(reg_address - FLUSH_BASE),
      .write  (reg_write),
      .wdata  (reg_wdata),
      .read   (reg_read),
      .rdata  (flush_rdata),
      .control(flush_control),
      .status (flush_status)
  );

  logic unused_flush_control;
  assign unused_flush_control = &{1'b0, flush_control};
  assign wall_write   = reg_write && reg_address == FLUSH_BASE + 16'd8;
  assign flush_status = {ignored, flushes_dropped, all_flushes, wall_now[0]};
  assign reg_rdata    = main_rdata | flush_rdata;  // one of them is 0

  always_comb begin
    all_flushes = '0;
    for (int c = 0; c < C; c++) all_flushes += flushes_under_way[c];
  end

  always_ff @(posedge clk) begin
    if (flush_dropped != '0 || ignores != '0) begin
      flushes_dropped <= flushes_dropped + ones(flush_dropped);
      ignored         <= ignored + ones(ignores);
    end
    if (rst) begin
      flushes_dropped <= '0;
      ignored         <= '0;
    end
  end

  // ---- time ------------------------------------------------------------------------------------
  logic [PRESCALE-1:0]                         fraction;
  logic [memcached_pkg::NOW_BITS-1:0]          now;
  logic [memcached_pkg::NOW_BITS+PRESCALE-1:0] following;  // time after this cycle
  logic [memcached_pkg::TIME_BITS-1:0]         passed;     // units that end with this cycle
  logic [C-1:0]                                initialized;

  assign following = {now, fraction} + 1'b1 + (memcached_pkg::NOW_BITS + PRESCALE)'(skip)
      + (memcached_pkg::NOW_BITS + PRESCALE)'({elapsed, PRESCALE'(0)});
  assign unit_left = ~fraction;
  assign passed    = following[PRESCALE+:memcached_pkg::TIME_BITS]
      - now[memcached_pkg::TIME_BITS-1:0];

  assign cache_on      = on && initialized == '1 && CONTROLLERS != 0;
  // What changed while the cache was off or saw other frames is not known.
  assign foreign_write = (cache_on && !was_on) || reconfigured || invalidate;

  always_ff @(posedge clk) begin
    {now, fraction} <= rst ? '0 : following;
    was_on          <= cache_on && !rst;
  end

  // ---- functions -------------------------------------------------------------------------------
  logic [FUNCTIONS-1:0]                    enable;        // the function uses the cache
  logic [FUNCTIONS-1:0][C-1:0]             assigned;      // its controller, one-hot
  logic [FUNCTIONS-1:0][C-1:0]             kv_choice;     // that of the frame at kv_
  logic [FUNCTIONS-1:0][C-1:0]             reply_choice;
  logic [FUNCTIONS-1:0]                    transmit_busy;
  logic [FUNCTIONS-1:0]                    receive_busy;
  logic [FUNCTIONS-1:0]                    reply_busy;
  logic [FUNCTIONS-1:0]                    room;          // for what follows from a request

  logic [FUNCTIONS-1:0]                    kv_valid;
  logic [FUNCTIONS-1:0]                    kv_ready;
  logic [FUNCTIONS-1:0][511:0]             kv_data;
  logic [FUNCTIONS-1:0]                    kv_last;
  logic [FUNCTIONS-1:0][KV_META_BITS-1:0]  kv_meta;

  logic [FUNCTIONS-1:0]                    reply_valid;
  logic [FUNCTIONS-1:0]                    reply_ready;
  logic [FUNCTIONS-1:0][511:0]             reply_data;
  logic [FUNCTIONS-1:0]                    reply_last;
  logic [FUNCTIONS-1:0][net_pkg::META_BITS-1:0] reply_meta;

  logic [FUNCTIONS-1:0]                    net_valid;
  logic [FUNCTIONS-1:0]                    net_ready;
  logic [FUNCTIONS-1:0][511:0]             net_data;
  logic [FUNCTIONS-1:0]                    net_last;
  logic [FUNCTIONS-1:0][net_pkg::META_BITS-1:0] net_meta;

  // From net_if.
  logic [FUNCTIONS-1:0]                    arriving_valid;
  logic [FUNCTIONS-1:0]                    arriving_ready;
  logic [FUNCTIONS-1:0]                    arriving_reply_valid;
  logic [FUNCTIONS-1:0]                    arriving_reply_ready;
  logic [511:0]                            arriving_data;
  logic                                    arriving_last;
  net_pkg::meta_t                          arriving_meta;
  logic [FUNCTIONS-1:0]                    reply_room;
  logic [FUNCTIONS-1:0]                    unread_reply;

  // From the controllers.
  logic [C-1:0]                            out_valid;
  logic [C-1:0]                            out_ready;
  logic [C-1:0][511:0]                     out_data;
  logic [C-1:0]                            out_last;
  logic [C-1:0][net_pkg::META_BITS-1:0]    out_meta;
  logic [C-1:0]                            out_host;
  logic [C-1:0][7:0]                       out_source;    // the function, one-hot
  logic [FUNCTIONS-1:0][C-1:0]             forward_taken;
  logic [FUNCTIONS-1:0][C-1:0]             host_taken;
  logic [C-1:0][client_cache_pkg::EVENTS-1:0] events;
  logic [C-1:0][7:0]                       events_source;
  logic [C-1:0][FUNCTIONS-1:0][31:0]       epochs;
  logic [C-1:0][FUNCTIONS-1:0]             quiet;
  logic [C-1:0][FUNCTIONS-1:0]             pause;
  logic [C-1:0]                            controller_busy;

  for (genvar f = 0; f < FUNCTIONS; f++) begin : each
    client_cache_pkg::path_events_t path_events;
    logic [15:0]              sent_length;
    logic [15:0]              received_length;
    logic [$clog2(DEPTH):0]   forward_level;
    logic                     forward_valid;
    logic                     forward_ready;
    logic [511:0]             forward_data;
    logic                     forward_last;
    net_pkg::meta_t           forward_meta;
    logic [C-1:0]             forwards;  // controllers with a frame for the network
    logic [C-1:0]             answers;   // controllers with a frame for the function
    logic                     receive_room;
    logic                     receive_stuck;
    logic [C:0]               merge_valid;
    logic [C:0]               merge_ready;
    logic [512*(C+1)-1:0]     merge_data;  // vectors: yosys takes no arrays in generated blocks
    logic [C:0]               merge_last;
    logic [net_pkg::META_BITS*(C+1)-1:0] merge_meta;

    for (genvar c = 0; c < C; c++) begin : choices
      assign assigned[f][c] = CONTROLLERS != 0 && controller[groups[f]] == 4'(c);
      assign forwards[c] = out_valid[c] && !out_host[c] && out_source[c][f];
      assign answers[c]  = out_valid[c] && out_host[c] && out_source[c][f];
    end
    assign enable[f] = cache_on && assigned[f] != '0;

    transmit_path #(
        .DEPTH(DEPTH)
    ) transmit (
        .clk,
        .rst,
        .enable         (enable[f]),
        .drop_requests,
        .memcached_port,
        .port_mask,
        .source         (8'(1 << f)),
        .busy           (transmit_busy[f]),
        .sent           (path_events.sent),
        .sent_length,
        .request_dropped(path_events.request_dropped),
        .forward_level,
        .s_valid        (s_valid[f]),
        .s_ready        (s_ready[f]),
        .s_data         (s_data[f]),
        .s_last         (s_last[f]),
        .s_meta         (s_meta[f]),
        .kv_valid       (kv_valid[f]),
        .kv_ready       (kv_ready[f]),
        .kv_data        (kv_data[f]),
        .kv_last        (kv_last[f]),
        .kv_meta        (kv_meta[f]),
        .forward_valid,
        .forward_ready,
        .forward_data,
        .forward_last,
        .forward_meta,
        .net_valid      (net_valid[f]),
        .net_ready      (net_ready[f]),
        .net_data       (net_data[f]),
        .net_last       (net_last[f]),
        .net_meta       (net_meta[f])
    );

    // A frame keeps its controller when the registers change.
    logic         kv_in_frame;
    logic [C-1:0] kv_held;
    logic         reply_in_frame;
    logic [C-1:0] reply_held;
    assign kv_choice[f]    = kv_in_frame ? kv_held : assigned[f] == '0 ? C'(1) : assigned[f];
    assign reply_choice[f] = reply_in_frame ? reply_held : assigned[f] == '0 ? C'(1) : assigned[f];

    always_ff @(posedge clk) begin
      if (rst) kv_in_frame <= 1'b0;
      else if (kv_valid[f] && kv_ready[f]) kv_in_frame <= !kv_last[f];
      if (kv_valid[f] && kv_ready[f]) kv_held <= kv_choice[f];
      if (rst) reply_in_frame <= 1'b0;
      else if (reply_valid[f] && reply_ready[f]) reply_in_frame <= !reply_last[f];
      if (reply_valid[f] && reply_ready[f]) reply_held <= reply_choice[f];
    end

    // Forwarded requests.
    if (C == 1) begin : one
      assign forward_valid    = forwards[0];
      assign forward_taken[f] = forward_ready;
      assign forward_data     = out_data[0];
      assign forward_last     = out_last[0];
      assign forward_meta     = out_meta[0];
    end else begin : several
      logic [C-1:0] from;
      logic         unused;
      frame_mux #(
          .PORTS(C),
          .BYTES(64)
      ) collect (
          .clk,
          .rst,
          .s_valid(forwards),
          .s_ready(forward_taken[f]),
          .s_data (out_data),
          .s_last (out_last),
          .s_meta (out_meta),
          .m_valid(forward_valid),
          .m_ready(forward_ready),
          .m_data (forward_data),
          .m_last (forward_last),
          .m_meta (forward_meta),
          .m_port (from)
      );
      assign unused = &{1'b0, from};
    end

    // Replies of servers, before the controller.
    logic [$clog2(REPLY_DEPTH):0] reply_level;
    logic [31:0]                  reply_accepted;
    logic [31:0]                  reply_dropped;

    if (CONTROLLERS != 0) begin : with_replies
      frame_fifo #(
          .BYTES(64),
          .DEPTH(REPLY_DEPTH)
      ) replies (
          .clk,
          .rst,
          .s_valid (arriving_reply_valid[f]),
          .s_ready (arriving_reply_ready[f]),
          .s_data  (arriving_data),
          .s_last  (arriving_last),
          .s_meta  (arriving_meta),
          .m_valid (reply_valid[f]),
          .m_ready (reply_ready[f]),
          .m_data  (reply_data[f]),
          .m_last  (reply_last[f]),
          .m_meta  (reply_meta[f]),
          .level   (reply_level),
          .accepted(reply_accepted),
          .dropped (reply_dropped)
      );
    end else begin : without_replies
      logic unused;
      assign arriving_reply_ready[f] = 1'b1;
      assign reply_valid[f]          = 1'b0;
      assign reply_data[f]           = '0;
      assign reply_last[f]           = 1'b0;
      assign reply_meta[f]           = '0;
      assign reply_level             = '0;
      assign reply_accepted          = '0;
      assign reply_dropped           = '0;
      assign unused = &{1'b0, arriving_reply_valid[f], reply_ready[f]};
    end
    assign reply_room[f] = 32'(reply_level) <= REPLY_LIMIT;
    assign reply_busy[f] = reply_valid[f] || reply_level != '0;

    // Frames for the function.
    assign merge_valid       = {answers, arriving_valid[f]};
    assign merge_data        = {out_data, arriving_data};
    assign merge_last        = {out_last, arriving_last};
    assign merge_meta        = {out_meta, arriving_meta};
    assign host_taken[f]     = merge_ready[C:1];
    assign arriving_ready[f] = merge_ready[0];

    receive_path #(
        .PORTS(C + 1),
        .DEPTH(DEPTH)
    ) receive (
        .clk,
        .rst,
        .busy           (receive_busy[f]),
        .room           (receive_room),
        .stuck          (receive_stuck),
        .received       (path_events.received),
        .received_length,
        .dropped        (path_events.receive_dropped),
        .s_valid        (merge_valid),
        .s_ready        (merge_ready),
        .s_data         (merge_data),
        .s_last         (merge_last),
        .s_meta         (merge_meta),
        .m_valid        (m_valid[f]),
        .m_ready        (m_ready[f]),
        .m_data         (m_data[f]),
        .m_last         (m_last[f]),
        .m_meta         (m_meta[f])
    );
    assign room[f] = 32'(forward_level) <= FORWARD_LIMIT && (receive_room || receive_stuck);

    assign path_events.unread_reply = unread_reply[f];

    client_cache_counters #(
        .CONTROLLERS(C),
        .FUNCTION(f)
    ) count (
        .clk,
        .rst,
        .events,
        .events_source,
        .path_events,
        .sent_length,
        .received_length,
        .counters(counters[f])
    );

    // Of group f, at its controller.
    always_comb begin
      group_epochs[f] = '0;
      group_state[f]  = 32'd1;
      for (int c = 0; c < C; c++) begin
        if (CONTROLLERS != 0 && controller[f] == 4'(c)) begin
          group_epochs[f] = epochs[c][f];
          group_state[f]  = {30'd0, pause[c][f], quiet[c][f]};
        end
      end
    end

    logic unused_of_function;
    assign unused_of_function = &{1'b0, reply_accepted, reply_dropped};
  end

  // ---- controllers -----------------------------------------------------------------------------
  logic [C-1:0][FUNCTIONS-1:0] kv_taken;
  logic [C-1:0][FUNCTIONS-1:0] reply_taken;
  logic [C-1:0][8:0]           miss_live;
  logic [C-1:0]                miss_full;
  logic [C-1:0]                miss_ambiguous;
  logic [C-1:0]                miss_expired;
  logic [C-1:0]                misses_still;

  if (CONTROLLERS != 0) begin : with_cache
    for (genvar c = 0; c < C; c++) begin : each_controller
      logic [FUNCTIONS-1:0]              own_requests;
      logic [FUNCTIONS-1:0]              own_replies;
      logic [1:0]                        in_valid;
      logic [1:0]                        in_ready;
      logic [1023:0]                     in_data;
      logic [1:0]                        in_last;
      logic [2*KV_META_BITS-1:0]         in_meta;
      logic [net_pkg::META_BITS-1:0]     reply_in_meta;
      logic [FUNCTIONS-1:0]              request_from;
      logic [FUNCTIONS-1:0]              reply_from;
      logic [1:0]                        frame_from;
      logic                              frame_valid;
      logic                              frame_ready;
      logic [511:0]                      frame_data;
      logic                              frame_last;
      logic [KV_META_BITS-1:0]           frame_meta;
      net_pkg::meta_t                    answer_meta;
      client_cache_pkg::events_t         own_events;
      logic                              kv_busy;

      for (genvar f = 0; f < FUNCTIONS; f++) begin : own
        assign own_requests[f] = kv_valid[f] && kv_choice[f][c];
        assign own_replies[f]  = reply_valid[f] && reply_choice[f][c];
      end

      weighted_mux #(
          .PORTS(FUNCTIONS),
          .META_BITS(KV_META_BITS)
      ) requests (
          .clk,
          .rst,
          .skip,
          .weight,
          .rate    ('0),
          .eligible(room),
          .s_valid (own_requests),
          .s_ready (kv_taken[c]),
          .s_data  (kv_data),
          .s_last  (kv_last),
          .s_meta  (kv_meta),
          .m_valid (in_valid[0]),
          .m_ready (in_ready[0]),
          .m_data  (in_data[511:0]),
          .m_last  (in_last[0]),
          .m_meta  (in_meta[KV_META_BITS-1:0]),
          .m_port  (request_from)
      );

      weighted_mux #(
          .PORTS(FUNCTIONS)
      ) replies (
          .clk,
          .rst,
          .skip,
          .weight,
          .rate    ('0),
          .eligible('1),
          .s_valid (own_replies),
          .s_ready (reply_taken[c]),
          .s_data  (reply_data),
          .s_last  (reply_last),
          .s_meta  (reply_meta),
          .m_valid (in_valid[1]),
          .m_ready (in_ready[1]),
          .m_data  (in_data[1023:512]),
          .m_last  (in_last[1]),
          .m_meta  (reply_in_meta),
          .m_port  (reply_from)
      );
      assign in_meta[2*KV_META_BITS-1:KV_META_BITS] =
          {memcached_pkg::KIND_RESPONSE, reply_in_meta};

      frame_mux #(
          .PORTS(2),
          .BYTES(64),
          .META_BITS(KV_META_BITS)
      ) both (
          .clk,
          .rst,
          .s_valid(in_valid),
          .s_ready(in_ready),
          .s_data (in_data),
          .s_last (in_last),
          .s_meta (in_meta),
          .m_valid(frame_valid),
          .m_ready(frame_ready),
          .m_data (frame_data),
          .m_last (frame_last),
          .m_meta (frame_meta),
          .m_port (frame_from)
      );

      kv_controller #(
          .FUNCTIONS   (FUNCTIONS),
          .INDEX_BITS  (INDEX_BITS),
          .KEY_BYTES   (KEY_BYTES),
          .VALUE_BYTES (VALUE_BYTES),
          .MISS_ENTRIES(MISS_ENTRIES)
      ) kv (
          .clk,
          .rst,
          .initialized   (initialized[c]),
          .busy          (kv_busy),
          .skip,
          .still         (misses_still[c]),
          .settings,
          .now,
          .passed,
          .lifetime,
          .foreign_write,
          .clear_flushes,
          .second        (flush_control[0]),
          .accuracy      (flush_control[1][4:0]),
          .wall_write,
          .wall_time     (reg_wdata),
          .groups,
          .slice_base,
          .slice_mask,
          .quota,
          .s_valid       (frame_valid),
          .s_ready       (frame_ready),
          .s_data        (frame_data),
          .s_last        (frame_last),
          .s_meta        (frame_meta[net_pkg::META_BITS-1:0]),
          .s_kind        (memcached_pkg::kind_t'(frame_meta[KV_META_BITS-1:net_pkg::META_BITS])),
          .m_valid       (out_valid[c]),
          .m_ready       (out_ready[c]),
          .m_data        (out_data[c]),
          .m_last        (out_last[c]),
          .m_meta        (answer_meta),
          .m_host        (out_host[c]),
          .events        (own_events),
          .events_source (events_source[c]),
          .epochs        (epochs[c]),
          .quiet         (quiet[c]),
          .pause         (pause[c]),
          .wall_now      (wall_now[c]),
          .flushes_under_way(flushes_under_way[c]),
          .flush_dropped (flush_dropped[c]),
          .ignores       (ignores[c]),
          .miss_live     (miss_live[c]),
          .miss_full     (miss_full[c]),
          .miss_ambiguous(miss_ambiguous[c]),
          .miss_expired  (miss_expired[c])
      );
      assign events[c]          = own_events;
      assign out_meta[c]        = answer_meta;
      assign out_source[c]      = answer_meta.source;
      assign controller_busy[c] = kv_busy || frame_valid || in_valid != '0;

      always_comb begin
        out_ready[c] = 1'b0;
        for (int f = 0; f < FUNCTIONS; f++) begin
          if (out_source[c][f]) begin
            out_ready[c] = out_host[c] ? host_taken[f][c] : forward_taken[f][c];
          end
        end
      end

      logic unused_of_controller;
      assign unused_of_controller = &{1'b0, request_from, reply_from, frame_from};
    end

    always_comb begin
      kv_ready    = '0;
      reply_ready = '0;
      for (int c = 0; c < C; c++) begin
        kv_ready    = kv_ready | kv_taken[c];
        reply_ready = reply_ready | reply_taken[c];
      end
    end
  end else begin : plain
    logic unused_of_cache;
    assign initialized     = '1;
    assign controller_busy = '0;
    assign kv_taken        = '0;
    assign kv_ready        = '0;
    assign reply_taken     = '0;
    assign reply_ready     = '0;
    assign out_valid       = '0;
    assign out_ready       = '0;
    assign out_data        = '0;
    assign out_last        = '0;
    assign out_meta        = '0;
    assign out_host        = '0;
    assign out_source      = '0;
    assign events          = '0;
    assign events_source   = '0;
    assign epochs          = '0;
    assign quiet           = '1;
    assign pause           = '0;
    assign wall_now          = '0;
    assign flushes_under_way = '0;
    assign flush_dropped     = '0;
    assign ignores           = '0;
    assign miss_live       = '0;
    assign miss_full       = '0;
    assign miss_ambiguous  = '0;
    assign miss_expired    = '0;
    assign misses_still    = '1;
    assign unused_of_cache = &{1'b0, kv_data, kv_meta, reply_data, reply_meta, room, kv_choice,
                               reply_choice, host_taken, forward_taken, settings, now, passed,
                               quota, slice_base, slice_mask, lifetime, foreign_write, clear_flushes,
                               wall_write, kv_taken, reply_taken, out_ready};
  end

  // ---- network ---------------------------------------------------------------------------------
  logic                 arrived;
  logic [15:0]          arrived_length;
  logic                 unknown;
  logic                 net_if_busy;
  net_pkg::meta_t       rx_meta;
  net_pkg::meta_t       tx_meta;
  logic [FUNCTIONS-1:0] tx_from;

  assign rx_meta        = {rx_meta_length, 16'd0};
  assign tx_meta_length = tx_meta.length;

  net_if #(
      .FUNCTIONS(FUNCTIONS)
  ) network (
      .clk,
      .rst,
      .mac,
      .promiscuous,
      .enable        (enable),
      .memcached_port,
      .port_mask,
      .reply_room,
      .unread_reply,
      .arrived,
      .arrived_length,
      .unknown,
      .busy          (net_if_busy),
      .s_valid       (rx_valid),
      .s_ready       (rx_ready),
      .s_data        (rx_data),
      .s_last        (rx_last),
      .s_meta        (rx_meta),
      .m_valid       (arriving_valid),
      .m_ready       (arriving_ready),
      .reply_valid   (arriving_reply_valid),
      .reply_ready   (arriving_reply_ready),
      .m_data        (arriving_data),
      .m_last        (arriving_last),
      .m_meta        (arriving_meta)
  );

  weighted_mux #(
      .PORTS(FUNCTIONS)
  ) sender (
      .clk,
      .rst,
      .skip,
      .weight,
      .rate,
      .eligible('1),
      .s_valid (net_valid),
      .s_ready (net_ready),
      .s_data  (net_data),
      .s_last  (net_last),
      .s_meta  (net_meta),
      .m_valid (tx_valid),
      .m_ready (tx_ready),
      .m_data  (tx_data),
      .m_last  (tx_last),
      .m_meta  (tx_meta),
      .m_port  (tx_from)
  );

  // ---- status ----------------------------------------------------------------------------------
  logic        occupied;  // a frame is in a queue or in work
  logic        holding;
  logic [4:0]  moving;
  logic        busy;  // a frame is inside
  logic [31:0] net_received;
  logic [31:0] net_received_bytes;
  logic [31:0] net_sent;
  logic [31:0] net_sent_bytes;
  logic [31:0] unknown_frames;
  logic [31:0] miss_full_total;
  logic [31:0] miss_ambiguous_total;
  logic [31:0] miss_expired_total;
  logic [31:0] busy_cycles;
  logic [31:0] live_total;
  logic        all_quiet;
  logic        any_pause;

  // From a queue to the next a frame is in neither for a few cycles.
  assign occupied = transmit_busy != '0 || receive_busy != '0 || reply_busy != '0 || net_if_busy
      || controller_busy != '0 || s_valid != '0 || m_valid != '0 || tx_valid || initialized != '1;
  assign holding = occupied || host_busy;
  assign busy    = holding || moving != '0;
  assign idle    = !occupied && (host_busy || moving == '0) && misses_still == '1
      && !reg_read && !reg_write;

  function automatic logic [31:0] ones(input logic [C-1:0] mask);
    ones = '0;
    for (int i = 0; i < C; i++) ones += 32'(mask[i]);
  endfunction

  always_comb begin
    live_total = '0;
    for (int c = 0; c < C; c++) live_total += 32'(miss_live[c]);
    all_quiet  = 1'b1;
    any_pause = 1'b0;
    for (int f = 0; f < FUNCTIONS; f++) begin
      all_quiet  = all_quiet && group_state[f][0];
      any_pause = any_pause || group_state[f][1];
    end
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      moving               <= '0;
      net_received         <= '0;
      net_received_bytes   <= '0;
      net_sent             <= '0;
      net_sent_bytes       <= '0;
      unknown_frames       <= '0;
      miss_full_total      <= '0;
      miss_ambiguous_total <= '0;
      miss_expired_total   <= '0;
      busy_cycles          <= '0;
    end else begin
      moving             <= holding ? '1 : moving - 5'(moving != '0);
      net_received       <= net_received + 32'(arrived);
      net_received_bytes <= net_received_bytes + (arrived ? 32'(arrived_length) : '0);
      net_sent           <= net_sent + 32'(tx_valid && tx_ready && tx_last);
      net_sent_bytes     <= net_sent_bytes
          + (tx_valid && tx_ready && tx_last ? 32'(tx_meta.length) : '0);
      unknown_frames     <= unknown_frames + 32'(unknown);
      if (miss_full != '0) miss_full_total <= miss_full_total + ones(miss_full);
      if (miss_ambiguous != '0) miss_ambiguous_total <= miss_ambiguous_total + ones(miss_ambiguous);
      if (miss_expired != '0) miss_expired_total <= miss_expired_total + ones(miss_expired);
      if (controller_busy != '0) busy_cycles <= busy_cycles + ones(controller_busy);
    end
  end

  always_comb begin
    status = '0;
    if (reg_read) begin
      status = {
        busy_cycles, miss_expired_total, miss_ambiguous_total, miss_full_total, live_total,
        unknown_frames, net_sent_bytes, net_sent, net_received_bytes, net_received,
        {8'(INDEX_BITS), 8'd0, 8'(CONTROLLERS), 8'(FUNCTIONS)},
        {27'd0, busy, any_pause, all_quiet, cache_on, initialized == '1},
        32'h6b76_4e43  // "kvNC"
      };
    end
  end

  logic unused;
  assign unused = &{1'b0, tx_from, tx_meta, epochs};
endmodule
