// The LaKe module (paper, figure 3): PE network, processing elements (PEs), memory network with its
// services. It takes memcached requests and the host's replies, and gives what is to be sent on:
// those frames, unchanged, or replies to clients.
//
// An epoch begins when data may have changed unseen. That makes everything stored before invalid;
// until `lifetime` has passed since, nothing is stored.
module lake_module #(
    parameter int PES = 5,
    parameter int PRESCALE = 10,     // `now` counts 2^PRESCALE cycles
    parameter int USE_DRAM = 1,
    parameter int USE_SRAM = 1,
    parameter int HASH_BITS = 12,
    parameter int CHUNKS_64 = 4096,
    parameter int CHUNKS_128 = 4096,
    parameter int CHUNKS_256 = 2048,
    parameter int CHUNKS_512 = 1024,
    parameter int FREE_ENTRIES = 0,
    parameter int CACHE_LINES = 1024,
    parameter int MISS_ENTRIES = 256,
    parameter int SRAM_LATENCY = 8,
    parameter int SRAM_ADDRESS_BITS = 16,
    localparam int TAG_BITS = PES > 1 ? $clog2(PES) : 1
) (
    input  logic                              clk,
    input  logic                              rst,
    output logic                              initialized,  // until then no frame is taken
    input  logic [31:0]                       skip,         // further cycles that pass, while not busy
    output logic                              busy,         // a frame is in work or waits

    input  logic [PES-1:0]                    enabled,
    input  logic [7:0]                        server_ports,  // mask: replies come from there
    input  logic                              udp_header,
    input  logic                              safe_writes,
    input  logic                              fill,
    input  logic                              single_use,
    input  logic                              cache_enable,
    input  logic [memcached_pkg::NOW_BITS-1:0]     max_age,
    input  logic [memcached_pkg::TIME_BITS-1:0]    lifetime,
    input  logic                              foreign_write,  // pulse: data may have changed unseen
    input  logic                              clear_flushes,  // pulse: no delayed flush is under way
    input  logic [memcached_pkg::TIME_BITS-1:0]    elapsed,        // units in which the clock stood still

    input  logic                              s_valid,
    output logic                              s_ready,
    input  logic [255:0]                      s_data,
    input  logic                              s_last,
    input  net_pkg::meta_t                    s_meta,
    input  logic                              s_corrupt,   // with the last word: see frame_check

    output logic                              m_valid,
    input  logic                              m_ready,
    output logic [255:0]                      m_data,
    output logic                              m_last,
    output net_pkg::meta_t                    m_meta,

    output logic                              dram_valid,
    input  logic                              dram_ready,
    output logic                              dram_write,
    output logic [lake_pkg::ADDRESS_BITS-1:0] dram_address,
    output logic [lake_pkg::LINE_BITS-1:0]    dram_wdata,
    output logic [TAG_BITS:0]                 dram_tag,
    input  logic                              dram_response_valid,
    input  logic [lake_pkg::LINE_BITS-1:0]    dram_response_rdata,
    input  logic [TAG_BITS:0]                 dram_response_tag,

    output logic                              sram_enable,
    output logic                              sram_write,
    output logic [SRAM_ADDRESS_BITS-1:0]      sram_address,
    output logic [31:0]                       sram_wdata,
    input  logic [31:0]                       sram_rdata,

    // Delayed flushes: see flush_timers.
    input  logic [31:0]                       second,
    input  logic [4:0]                        accuracy,
    input  logic                              wall_write,
    input  logic [31:0]                       wall_time,
    output logic [31:0]                       wall_now,
    output logic [31:0]                       flushes_under_way,
    output logic [31:0]                       flushes_dropped,
    output logic                              pause,           // everything stored is invalid
    output logic [31:0]                       ignored,         // of `malformed`: changed nothing
    output logic                              quiet,
    output logic [31:0]                       epoch_count,
    output logic [31:0]                       busy_cycles,     // of all PEs
    output logic [31:0]                       starved_cycles,  // a frame waited for a PE
    output lake_pkg::counters_t               counters,
    output lake_pkg::memory_counters_t        memory_counters
);
  // A mask of events in `events`.
  localparam logic [lake_pkg::EVENTS_STRIDE-1:0] FLUSHES = 2;

  // ---- time and epoch --------------------------------------------------------------------------
  logic [PRESCALE-1:0]             fraction;
  logic [memcached_pkg::NOW_BITS-1:0]   now;
  logic [memcached_pkg::NOW_BITS-1:0]   epoch_start;  // what was stored before is invalid
  logic [memcached_pkg::TIME_BITS-1:0]  quiet_left;  // units until `quiet`
  logic [PES-1:0][lake_pkg::EVENTS_STRIDE-1:0] events;
  logic                            was_pause;
  logic                            advance;
  logic [memcached_pkg::NOW_BITS+PRESCALE-1:0] following;  // time after this cycle
  logic [memcached_pkg::TIME_BITS-1:0]  passed;       // units that end with this cycle

  assign following = {now, fraction} + 1'b1 + (memcached_pkg::NOW_BITS + PRESCALE)'(skip)
      + (memcached_pkg::NOW_BITS + PRESCALE)'({elapsed, PRESCALE'(0)});
  assign passed    = following[PRESCALE+:memcached_pkg::TIME_BITS] - now[memcached_pkg::TIME_BITS-1:0];
  assign advance     = foreign_write || (events & {PES{FLUSHES}}) != '0 || (pause && !was_pause);
  assign quiet       = quiet_left == '0;

  always_ff @(posedge clk) begin
    {now, fraction} <= following;
    // One unit more than the lifetime: the first may be nearly over.
    if (advance || pause) quiet_left <= lifetime + 1'b1;
    else if (passed != '0) quiet_left <= quiet_left > passed ? quiet_left - passed : '0;
    // Nothing is stored in the rest of this unit, so it belongs to the old epoch.
    if (advance) epoch_start <= now + 1'b1;
    if (advance) epoch_count <= epoch_count + 1'b1;
    was_pause <= pause;
    if (rst) begin
      fraction   <= '0;
      now        <= '0;
      epoch_start <= '0;
      epoch_count <= '0;
      quiet_left <= '0;
      was_pause  <= 1'b0;
    end
  end

  lake_pkg::settings_t settings;
  always_comb begin
    settings.udp_header  = udp_header;
    settings.safe_writes = safe_writes;
    settings.fill        = fill;
    settings.single_use  = single_use;
    settings.max_age     = max_age;
    settings.bucket_mask = (lake_pkg::ADDRESS_BITS)'((1 << HASH_BITS) - 1);
  end

  // ---- delayed flushes -------------------------------------------------------------------------
  logic [PES-1:0]       flush_valid;
  logic [PES-1:0]       flush_granted;
  logic [PES-1:0][31:0] flush_delay;
  logic                 flush_timed;
  logic [31:0]          delay;
  logic [PES-1:0]       ignores;

  assign flush_granted = flush_valid & (~flush_valid + 1'b1);

  always_comb begin
    delay = '0;
    for (int pe = 0; pe < PES; pe++) begin
      if (flush_granted[pe]) delay = flush_delay[pe];
    end
  end

  flush_timers flushes (
      .clk,
      .rst,
      .passed,
      .second,
      .accuracy,
      .wall_write,
      .wall_time,
      .clear    (clear_flushes),
      .s_valid  (flush_valid != '0),
      .s_delay  (delay),
      .s_timed  (flush_timed),
      .pause,
      .wall_now,
      .wall_known,
      .under_way(flushes_under_way)
  );

  logic        wall_known;
  logic [31:0] ignored_now;

  always_comb begin
    ignored_now = '0;
    for (int pe = 0; pe < PES; pe++) ignored_now += 32'(ignores[pe]);
  end

  always_ff @(posedge clk) begin
    flushes_dropped <= flushes_dropped + 32'(flush_valid != '0 && !flush_timed);
    if (ignores != '0) ignored <= ignored + ignored_now;
    if (rst) begin
      flushes_dropped <= '0;
      ignored         <= '0;
    end
  end

  // ---- PE network ------------------------------------------------------------------------------
  logic [PES-1:0]            pe_valid;
  logic [PES-1:0]            pe_ready;
  logic [PES-1:0]            dispatch;
  logic                      starved;
  logic                      open_ready;
  logic [PES-1:0]            out_valid;
  logic [PES-1:0]            out_ready;
  logic [PES-1:0][255:0]     out_data;
  logic [PES-1:0]            out_last;
  logic [PES-1:0][net_pkg::META_BITS-1:0] out_meta;
  logic [PES-1:0]            from_pe;

  assign s_ready = open_ready && initialized;
  assign busy    = s_valid || !initialized || pe_ready != '1;

  pe_dispatcher #(
      .PES(PES)
  ) dispatcher (
      .clk,
      .rst,
      .enabled,
      .s_valid (s_valid && initialized),
      .s_ready (open_ready),
      .s_last,
      .m_valid (pe_valid),
      .m_ready (pe_ready),
      .dispatch,
      .starved
  );

  frame_mux #(
      .PORTS(PES)
  ) collector (
      .clk,
      .rst,
      .s_valid(out_valid),
      .s_ready(out_ready),
      .s_data (out_data),
      .s_last (out_last),
      .s_meta (out_meta),
      .m_valid,
      .m_ready,
      .m_data,
      .m_last,
      .m_meta,
      .m_port (from_pe)
  );

  logic server_known;
  logic server_mac;

  server_addresses servers (
      .clk,
      .rst,
      .take    (s_valid && s_ready),
      .last    (s_last),
      .data    (s_data),
      .response((s_meta.source & server_ports) != '0),
      .corrupt (s_corrupt),
      .known   (server_known),
      .same_mac(server_mac)
  );

  // ---- processing elements ---------------------------------------------------------------------
  logic [PES-1:0]                             declare_valid;
  logic [PES-1:0]                             declare_all;
  logic [PES-1:0]                             declare_read;
  logic [PES-1:0][31:0]                       declare_bucket;
  logic [PES-1:0]                             granted;
  logic [PES-1:0]                             finish;

  logic [PES-1:0]                    hash_valid;
  logic [PES-1:0]                    hash_ready;
  logic [PES-1:0][lake_pkg::LINE_REQUEST_STRIDE-1:0] hash_request;
  logic [PES-1:0]                    hash_response_valid;
  logic [lake_pkg::LINE_BITS-1:0]    hash_response;
  logic [PES-1:0]                    data_valid;
  logic [PES-1:0]                    data_ready;
  logic [PES-1:0][lake_pkg::LINE_REQUEST_STRIDE-1:0] data_request;
  logic [PES-1:0]                    data_response_valid;
  logic [lake_pkg::LINE_BITS-1:0]    data_response;
  logic [PES-1:0]                    slab_valid;
  logic [PES-1:0]                    slab_ready;
  logic [PES-1:0][lake_pkg::SLAB_REQUEST_STRIDE-1:0] slab_request;
  logic [PES-1:0]                    slab_response_valid;
  lake_pkg::slab_response_t          slab_response;
  logic [PES-1:0]                    guard_valid;
  logic [PES-1:0]                    guard_ready;
  logic [PES-1:0][lake_pkg::GUARD_REQUEST_STRIDE-1:0] guard_request;
  logic [PES-1:0]                    guard_response_valid;
  memcached_pkg::guard_response_t         guard_response;
  logic [PES-1:0]                    miss_valid;
  logic [PES-1:0]                    miss_ready;
  logic [PES-1:0][lake_pkg::MISS_REQUEST_STRIDE-1:0] miss_request;
  logic [PES-1:0]                    miss_response_valid;
  lake_pkg::miss_response_t          miss_response;

  for (genvar i = 0; i < PES; i++) begin : elements
    lake_pkg::events_t        pe_events;
    lake_pkg::line_request_t  pe_hash_request;
    lake_pkg::line_request_t  pe_data_request;
    lake_pkg::slab_request_t  pe_slab_request;
    memcached_pkg::guard_request_t pe_guard_request;
    lake_pkg::miss_request_t  pe_miss_request;
    logic [lake_pkg::ADDRESS_BITS-1:0] pe_bucket;

    lake_pe pe (
        .clk,
        .rst,
        .id                  (4'(i)),
        .settings,
        .now,
        .epoch_start,
        .quiet               (quiet && !advance && !pause),
        .flush_valid         (flush_valid[i]),
        .flush_delay         (flush_delay[i]),
        .flush_granted       (flush_granted[i]),
        .flush_timed,
        .ignores             (ignores[i]),
        .events              (pe_events),
        .s_valid             (pe_valid[i]),
        .s_ready             (pe_ready[i]),
        .s_data,
        .s_last,
        .s_meta,
        .s_response          ((s_meta.source & server_ports) != '0),
        .s_corrupt,
        .server_known,
        .server_mac,
        .m_valid             (out_valid[i]),
        .m_ready             (out_ready[i]),
        .m_data              (out_data[i]),
        .m_last              (out_last[i]),
        .m_meta              (out_meta[i]),
        .declare_valid       (declare_valid[i]),
        .declare_all         (declare_all[i]),
        .declare_read        (declare_read[i]),
        .declare_bucket      (pe_bucket),
        .granted             (granted[i]),
        .finish              (finish[i]),
        .hash_valid          (hash_valid[i]),
        .hash_ready          (hash_ready[i]),
        .hash_request        (pe_hash_request),
        .hash_response_valid (hash_response_valid[i]),
        .hash_response,
        .data_valid          (data_valid[i]),
        .data_ready          (data_ready[i]),
        .data_request        (pe_data_request),
        .data_response_valid (data_response_valid[i]),
        .data_response,
        .slab_valid          (slab_valid[i]),
        .slab_ready          (slab_ready[i]),
        .slab_request        (pe_slab_request),
        .slab_response_valid (slab_response_valid[i]),
        .slab_response,
        .guard_valid         (guard_valid[i]),
        .guard_ready         (guard_ready[i]),
        .guard_request       (pe_guard_request),
        .guard_response_valid(guard_response_valid[i]),
        .guard_response,
        .miss_valid          (miss_valid[i]),
        .miss_ready          (miss_ready[i]),
        .miss_request        (pe_miss_request),
        .miss_response_valid (miss_response_valid[i]),
        .miss_response
    );
    assign hash_request[i]    = lake_pkg::LINE_REQUEST_STRIDE'(pe_hash_request);
    assign data_request[i]    = lake_pkg::LINE_REQUEST_STRIDE'(pe_data_request);
    assign slab_request[i]    = lake_pkg::SLAB_REQUEST_STRIDE'(pe_slab_request);
    assign guard_request[i]   = lake_pkg::GUARD_REQUEST_STRIDE'(pe_guard_request);
    assign miss_request[i]    = lake_pkg::MISS_REQUEST_STRIDE'(pe_miss_request);
    assign declare_bucket[i]  = 32'(pe_bucket);
    assign events[i]          = lake_pkg::EVENTS_STRIDE'(pe_events);
  end

  scoreboard #(
      .PES(PES),
      .BUCKET_BITS(32)
  ) order (
      .clk,
      .rst,
      .dispatch,
      .declare_valid,
      .declare_all,
      .declare_read,
      .declare_bucket,
      .granted,
      .finish
  );

  // ---- memory network --------------------------------------------------------------------------
  memory_system #(
      .PES(PES),
      .USE_DRAM(USE_DRAM),
      .USE_SRAM(USE_SRAM),
      .HASH_BITS(HASH_BITS),
      .CHUNKS_64(CHUNKS_64),
      .CHUNKS_128(CHUNKS_128),
      .CHUNKS_256(CHUNKS_256),
      .CHUNKS_512(CHUNKS_512),
      .FREE_ENTRIES(FREE_ENTRIES),
      .CACHE_LINES(CACHE_LINES),
      .MISS_ENTRIES(MISS_ENTRIES),
      .SRAM_LATENCY(SRAM_LATENCY),
      .SRAM_ADDRESS_BITS(SRAM_ADDRESS_BITS)
  ) memory (
      .clk,
      .rst,
      .initialized,
      .cache_enable,
      .now(now[memcached_pkg::TIME_BITS-1:0]),
      .lifetime,
      .skip,
      .hash_valid,
      .hash_ready,
      .hash_request,
      .hash_response_valid,
      .hash_response,
      .data_valid,
      .data_ready,
      .data_request,
      .data_response_valid,
      .data_response,
      .slab_valid,
      .slab_ready,
      .slab_request,
      .slab_response_valid,
      .slab_response,
      .guard_valid,
      .guard_ready,
      .guard_request,
      .guard_response_valid,
      .guard_response,
      .miss_valid,
      .miss_ready,
      .miss_request,
      .miss_response_valid,
      .miss_response,
      .dram_valid,
      .dram_ready,
      .dram_write,
      .dram_address,
      .dram_wdata,
      .dram_tag,
      .dram_response_valid,
      .dram_response_rdata,
      .dram_response_tag,
      .sram_enable,
      .sram_write,
      .sram_address,
      .sram_wdata,
      .sram_rdata,
      .dram_read_cycles(memory_counters.dram_read_cycles),
      .hash_hits     (memory_counters.hash_hits),
      .hash_misses   (memory_counters.hash_misses),
      .hash_fills    (memory_counters.hash_fills),
      .data_hits     (memory_counters.data_hits),
      .data_misses   (memory_counters.data_misses),
      .data_fills    (memory_counters.data_fills),
      .dram_reads    (memory_counters.dram_reads),
      .dram_writes   (memory_counters.dram_writes),
      .sram_reads    (memory_counters.sram_reads),
      .sram_writes   (memory_counters.sram_writes),
      .alloc_failures(memory_counters.alloc_failures),
      .lost_chunks   (memory_counters.lost_chunks),
      .miss_inserts  (memory_counters.miss_inserts),
      .miss_full     (memory_counters.miss_full),
      .miss_ambiguous(memory_counters.miss_ambiguous),
      .miss_expired  (memory_counters.miss_expired),
      .chunks_in_use (memory_counters.chunks_in_use),
      .miss_live     (memory_counters.miss_live)
  );

  // ---- counters --------------------------------------------------------------------------------
  lake_counters #(
      .PES(PES)
  ) count (
      .clk,
      .rst,
      .events,
      .busy(~pe_ready),
      .starved,
      .counters,
      .busy_cycles,
      .starved_cycles
  );

  logic unused;
  assign unused = &{1'b0, from_pe, wall_known};
endmodule
