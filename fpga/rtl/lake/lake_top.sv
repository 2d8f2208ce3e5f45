// LaKe in the data path of the NetFPGA (paper, figure 2): ports, classifier, LaKe module, output
// port lookup, output queues and registers. Memories off the chip are behind the ports `dram_*` and
// `sram_*`.
//
// Frames for LaKe wait in a FIFO that drops what does not fit, so LaKe never slows down the normal
// path; where both meet, normal frames go first.
//
// Registers, one word of 4 bytes each:
//   0 mode           1:0 cache (0 off, 1 on, 2 by rate), 4 forwarding (0 NIC, 1 switch)
//   1 options        0 memcached's frame header, 1 safe writes, 2 fill, 3 shared caches, 4 a tag
//                    serves one request in a lifetime
//   2 pe_mask        one bit for each processing element (PE)
//   3 memcached_port
//   4 server_ports   one bit for each port behind which servers are
//   5 lifetime       longest time that a packet is on its way to a server and back, in units
//   6 max_age        of a value that is served, in units; 0: no limit
//   7 threshold_on   queries in a window of 2^16 cycles; for cache mode 2
//   8 threshold_off
//   9 command        a write of 1: everything stored is invalid; of 2: that, and no delayed flush is
//                    under way; of 3 in bits 1:0: the clock stood still for 31:2 units
//   10...            read only: see `status`
// From address 0x400:
//   0 second         units in a second; 1 accuracy: clocks differ by 1 / 2^accuracy at most
//   2 wall_time      a write: the time of day, in seconds since 1970
//   3...             read only: see `flush_status`
// A unit is 2^PRESCALE cycles.
module lake_top #(
    parameter int NETWORK_PORTS = 4,  // the host port is the next one
    parameter int BYTES = 32,         // of a word of the data path: 32, or 64 for 100GbE
    parameter int PES = 5,
    parameter int PRESCALE = 10,
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
    parameter int FIFO_WORDS = 256,   // of the path to LaKe
    localparam int PORTS = NETWORK_PORTS + 1,
    localparam int TAG_BITS = PES > 1 ? $clog2(PES) : 1
) (
    input  logic                              clk,
    input  logic                              rst,

    input  logic [PORTS-1:0]                  rx_valid,
    output logic [PORTS-1:0]                  rx_ready,
    input  logic [PORTS-1:0][8*BYTES-1:0]     rx_data,
    input  logic [PORTS-1:0]                  rx_last,
    input  logic [PORTS-1:0][15:0]            rx_meta_length,

    output logic [PORTS-1:0]                  tx_valid,
    input  logic [PORTS-1:0]                  tx_ready,
    output logic [PORTS-1:0][8*BYTES-1:0]     tx_data,
    output logic [PORTS-1:0]                  tx_last,
    output logic [PORTS-1:0][15:0]            tx_meta_length,

    input  logic [15:0]                       reg_address,
    input  logic                              reg_write,
    input  logic [31:0]                       reg_wdata,
    input  logic                              reg_read,
    output logic [31:0]                       reg_rdata,

    // For simulations; on a board `skip` is 0. While `idle` is high nothing but time passes: then
    // `skip` further cycles, up to 4,095, may pass with this one.
    input  logic [31:0]                       skip = '0,
    output logic                              idle,

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
    input  logic [31:0]                       sram_rdata
);

  // ---- registers -------------------------------------------------------------------------------
  localparam int CONTROLS = 10;
  localparam int MODULE_STATUSES = 8;
  localparam int MEMORY_STATUSES = 22;
  localparam int STATUSES = MODULE_STATUSES + lake_pkg::EVENTS + MEMORY_STATUSES + 3 * PORTS + 1;
  localparam logic [31:0] DEFAULT_LIFETIME = 32'd20_000;  // 0.1 s at 200 MHz

  logic [CONTROLS-1:0][31:0] control;
  logic [STATUSES-1:0][31:0] status;
  logic                      command;
  logic                      invalidate;
  logic                      clear_flushes;
  logic [memcached_pkg::TIME_BITS-1:0] elapsed;

  assign command      = reg_write && reg_address == 16'd36;
  assign invalidate   = command && (reg_wdata == 32'd1 || reg_wdata == 32'd2);
  assign clear_flushes = command && reg_wdata == 32'd2;
  assign elapsed      = command && reg_wdata[1:0] == 2'd3 ? {2'd0, reg_wdata[31:2]} : '0;

  register_file #(
      .CONTROLS(CONTROLS),
      .STATUSES(STATUSES),
      .RESET({
        32'd0, 32'd0, 32'd0, 32'd0, DEFAULT_LIFETIME, 32'd1 << NETWORK_PORTS, 32'd11211,
        (32'd1 << PES) - 32'd1, 32'hf, 32'd1
      })
  ) registers (
      .clk,
      .rst,
      .address(reg_address),
      .write  (reg_write),
      .wdata  (reg_wdata),
      .read   (reg_read),
      .rdata  (main_rdata),
      .control,
      .status
  );

  // Those of delayed flushes.
  localparam logic [15:0] FLUSH_BASE = 16'h0400;
  localparam int FLUSH_CONTROLS = 3;
  localparam int FLUSH_STATUSES = 4;
  localparam logic [31:0] DEFAULT_SECOND = 32'd195_312;  // 200 MHz
  localparam logic [31:0] DEFAULT_ACCURACY = 32'd10;

  logic [31:0]                     main_rdata;
  logic [31:0]                     flush_rdata;
  logic [FLUSH_CONTROLS-1:0][31:0] flush_control;
  logic [FLUSH_STATUSES-1:0][31:0] flush_status;
  logic [31:0]                     wall_now;
  logic [31:0]                     flushes_under_way;
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

  assign flush_status = {ignored, flushes_dropped, flushes_under_way, wall_now};
  assign reg_rdata    = main_rdata | flush_rdata;  // one of them is 0

  // ---- input and classification ----------------------------------------------------------------
  logic                   arbiter_valid;
  logic                   arbiter_ready;
  logic [8*BYTES-1:0]     arbiter_data;
  logic                   arbiter_last;
  net_pkg::meta_t         arbiter_meta;
  logic [PORTS-1:0][31:0] received;

  logic                   class_valid;
  logic                   class_ready;
  logic [8*BYTES-1:0]     class_data;
  logic                   class_last;
  net_pkg::meta_t         class_meta;
  memcached_pkg::kind_t   class_kind;
  logic                   class_corrupt;  // with the last word
  logic                   corrupt_frame;
  logic [31:0]            corrupt_frames;
  logic                   cache_on;
  logic [31:0]            rate;
  logic                   opaque_write;

  input_arbiter #(
      .PORTS(PORTS),
      .BYTES(BYTES)
  ) arbiter (
      .clk,
      .rst,
      .s_valid (rx_valid),
      .s_ready (rx_ready),
      .s_data  (rx_data),
      .s_last  (rx_last),
      .s_length(rx_meta_length),
      .m_valid (arbiter_valid),
      .m_ready (arbiter_ready),
      .m_data  (arbiter_data),
      .m_last  (arbiter_last),
      .m_meta  (arbiter_meta),
      .received
  );

  packet_classifier #(
      .BYTES(BYTES)
  ) classifier (
      .clk,
      .rst,
      .mode          (netfpga_pkg::cache_mode_t'(control[0][1:0])),
      .memcached_port(control[3][15:0]),
      .server_ports  (control[4][7:0]),
      .threshold_on  (control[7]),
      .threshold_off (control[8]),
      .enabled       (cache_on),
      .rate,
      .foreign_write (opaque_write),
      .corrupt_frame,
      .skip,
      .s_valid       (arbiter_valid),
      .s_ready       (arbiter_ready),
      .s_data        (arbiter_data),
      .s_last        (arbiter_last),
      .s_meta        (arbiter_meta),
      .m_valid       (class_valid),
      .m_ready       (class_ready),
      .m_data        (class_data),
      .m_last        (class_last),
      .m_meta        (class_meta),
      .m_kind        (class_kind),
      .m_corrupt     (class_corrupt)
  );

  always_ff @(posedge clk) begin
    if (rst) corrupt_frames <= '0;
    else if (corrupt_frame) corrupt_frames <= corrupt_frames + 1'b1;
  end

  logic to_lake;
  logic foreign_write;

  assign to_lake       = class_kind == memcached_pkg::KIND_QUERY
      || class_kind == memcached_pkg::KIND_RESPONSE;
  assign foreign_write = opaque_write || invalidate;

  // ---- normal path -----------------------------------------------------------------------------
  logic           normal_in_ready;
  logic           normal_valid;
  logic           normal_ready;
  logic [8*BYTES-1:0] normal_data;
  logic           normal_last;
  net_pkg::meta_t normal_meta;
  logic [6:0]     normal_level;
  logic [31:0]    normal_accepted;
  logic [31:0]    normal_dropped;  // 0: this FIFO stalls

  assign class_ready = to_lake || normal_in_ready;

  frame_fifo #(
      .BYTES(BYTES),
      .DEPTH(64),
      .CUT_THROUGH(1'b1)
  ) normal_fifo (
      .clk,
      .rst,
      .s_valid (class_valid && !to_lake),
      .s_ready (normal_in_ready),
      .s_data  (class_data),
      .s_last  (class_last),
      .s_meta  (class_meta),
      .m_valid (normal_valid),
      .m_ready (normal_ready),
      .m_data  (normal_data),
      .m_last  (normal_last),
      .m_meta  (normal_meta),
      .level   (normal_level),
      .accepted(normal_accepted),
      .dropped (normal_dropped)
  );

  // ---- LaKe ------------------------------------------------------------------------------------
  logic           query_valid;
  logic           query_ready;
  logic [8*BYTES-1:0] query_data;
  logic           query_last;
  net_pkg::meta_t query_meta;
  logic           query_corrupt;   // with the last word
  logic           lake_valid;
  logic           lake_ready;
  logic [8*BYTES-1:0] lake_data;
  logic           lake_last;
  net_pkg::meta_t lake_meta;
  logic           fifo_ready;      // always 1: this FIFO drops
  logic [$clog2(FIFO_WORDS):0] fifo_level;
  logic [31:0]    lake_accepted;
  logic [31:0]    lake_dropped;
  logic           initialized;
  logic           lake_busy;
  logic           pause;
  logic           quiet;
  logic           busy;  // a frame is in LaKe, or on its way to it or from it
  logic [31:0]    epoch_count;
  logic [31:0]    busy_cycles;
  logic [31:0]    starved_cycles;
  lake_pkg::counters_t        counters;
  lake_pkg::memory_counters_t memory_counters;

  frame_fifo #(
      .BYTES(BYTES),
      .META_BITS(net_pkg::META_BITS + 1),
      .DEPTH(FIFO_WORDS),
      .DROP(1'b1)
  ) lake_fifo (
      .clk,
      .rst,
      .s_valid (class_valid && to_lake),
      .s_ready (fifo_ready),
      .s_data  (class_data),
      .s_last  (class_last),
      .s_meta  ({class_corrupt, class_meta}),
      .m_valid (query_valid),
      .m_ready (query_ready),
      .m_data  (query_data),
      .m_last  (query_last),
      .m_meta  ({query_corrupt, query_meta}),
      .level   (fifo_level),
      .accepted(lake_accepted),
      .dropped (lake_dropped)
  );

  // From a port to the FIFO and from LaKe to a port a frame is in no queue for a few cycles.
  logic       holding;
  logic [3:0] moving;

  assign holding = lake_busy || lake_valid || query_valid || fifo_level != '0 || rx_valid != '0
      || tx_valid != '0;
  assign busy = holding || moving != '0;

  always_ff @(posedge clk) begin
    if (rst) moving <= '0;
    else if (holding) moving <= '1;
    else if (moving != '0) moving <= moving - 1'b1;
  end

  // The LaKe module has words of 32 bytes.
  logic           request_valid;
  logic           request_ready;
  logic [255:0]   request_data;
  logic           request_last;
  net_pkg::meta_t request_meta;
  logic           answer_valid;
  logic           answer_ready;
  logic [255:0]   answer_data;
  logic           answer_last;
  net_pkg::meta_t answer_meta;

  if (BYTES == 32) begin : same_words
    assign request_valid = query_valid;
    assign query_ready   = request_ready;
    assign request_data  = query_data;
    assign request_last  = query_last;
    assign request_meta  = query_meta;
    assign lake_valid    = answer_valid;
    assign answer_ready  = lake_ready;
    assign lake_data     = answer_data;
    assign lake_last     = answer_last;
    assign lake_meta     = answer_meta;
  end else begin : wide_words
    word_narrower narrower (
        .clk,
        .rst,
        .s_valid(query_valid),
        .s_ready(query_ready),
        .s_data (query_data),
        .s_last (query_last),
        .s_meta (query_meta),
        .m_valid(request_valid),
        .m_ready(request_ready),
        .m_data (request_data),
        .m_last (request_last),
        .m_meta (request_meta)
    );

    word_widener widener (
        .clk,
        .rst,
        .s_valid(answer_valid),
        .s_ready(answer_ready),
        .s_data (answer_data),
        .s_last (answer_last),
        .s_meta (answer_meta),
        .m_valid(lake_valid),
        .m_ready(lake_ready),
        .m_data (lake_data),
        .m_last (lake_last),
        .m_meta (lake_meta)
    );
  end

  lake_module #(
      .PES(PES),
      .PRESCALE(PRESCALE),
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
  ) lake (
      .clk,
      .rst,
      .initialized,
      .skip,
      .busy        (lake_busy),
      .enabled     (control[2][PES-1:0]),
      .server_ports(control[4][7:0]),
      .udp_header  (control[1][0]),
      .safe_writes (control[1][1]),
      .fill        (control[1][2]),
      .cache_enable(control[1][3]),
      .single_use  (control[1][4]),
      .lifetime    (control[5]),
      .max_age     (memcached_pkg::NOW_BITS'(control[6])),
      .foreign_write,
      .clear_flushes,
      .elapsed,
      .s_valid     (request_valid),
      .s_ready     (request_ready),
      .s_data      (request_data),
      .s_last      (request_last),
      .s_meta      (request_meta),
      .s_corrupt   (query_corrupt),
      .m_valid     (answer_valid),
      .m_ready     (answer_ready),
      .m_data      (answer_data),
      .m_last      (answer_last),
      .m_meta      (answer_meta),
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
      .second      (flush_control[0]),
      .accuracy    (flush_control[1][4:0]),
      .wall_write  (reg_write && reg_address == FLUSH_BASE + 16'd8),
      .wall_time   (reg_wdata),
      .wall_now,
      .flushes_under_way,
      .flushes_dropped,
      .ignored,
      .pause,
      .quiet,
      .epoch_count,
      .busy_cycles,
      .starved_cycles,
      .counters,
      .memory_counters
  );

  // ---- output ----------------------------------------------------------------------------------
  logic                   merged_valid;
  logic                   merged_ready;
  logic [8*BYTES-1:0]     merged_data;
  logic                   merged_last;
  net_pkg::meta_t         merged_meta;
  logic                   merged_drop_eligible;
  logic                   lookup_valid;
  logic                   lookup_ready;
  logic [8*BYTES-1:0]     lookup_data;
  logic                   lookup_last;
  net_pkg::meta_t         lookup_meta;
  logic                   lookup_drop_eligible;
  logic [PORTS-1:0][31:0] transmitted;
  logic [PORTS-1:0][31:0] queue_dropped;
  logic [PORTS-1:0][net_pkg::META_BITS-1:0] tx_meta;

  output_arbiter #(
      .BYTES(BYTES)
  ) merge (
      .clk,
      .rst,
      .normal_valid,
      .normal_ready,
      .normal_data,
      .normal_last,
      .normal_meta,
      .lake_valid,
      .lake_ready,
      .lake_data,
      .lake_last,
      .lake_meta,
      .m_valid        (merged_valid),
      .m_ready        (merged_ready),
      .m_data         (merged_data),
      .m_last         (merged_last),
      .m_meta         (merged_meta),
      .m_drop_eligible(merged_drop_eligible)
  );

  output_port_lookup #(
      .NETWORK_PORTS(NETWORK_PORTS),
      .BYTES(BYTES)
  ) lookup (
      .clk,
      .rst,
      .forwarding     (netfpga_pkg::forwarding_t'(control[0][4])),
      .s_valid        (merged_valid),
      .s_ready        (merged_ready),
      .s_data         (merged_data),
      .s_last         (merged_last),
      .s_meta         (merged_meta),
      .s_drop_eligible(merged_drop_eligible),
      .m_valid        (lookup_valid),
      .m_ready        (lookup_ready),
      .m_data         (lookup_data),
      .m_last         (lookup_last),
      .m_meta         (lookup_meta),
      .m_drop_eligible(lookup_drop_eligible)
  );

  output_queues #(
      .PORTS(PORTS),
      .BYTES(BYTES)
  ) queues (
      .clk,
      .rst,
      .s_valid        (lookup_valid),
      .s_ready        (lookup_ready),
      .s_data         (lookup_data),
      .s_last         (lookup_last),
      .s_meta         (lookup_meta),
      .s_drop_eligible(lookup_drop_eligible),
      .m_valid        (tx_valid),
      .m_ready        (tx_ready),
      .m_data         (tx_data),
      .m_last         (tx_last),
      .m_meta         (tx_meta),
      .accepted       (transmitted),
      .dropped        (queue_dropped)
  );

  for (genvar i = 0; i < PORTS; i++) begin : ports
    net_pkg::meta_t meta;
    logic           unused;
    assign meta              = tx_meta[i];
    assign tx_meta_length[i] = meta.length;
    assign unused            = &{1'b0, meta};
  end

  // Nothing is in flight inside when all of this has been still for longer than any queue, memory
  // access or settings change takes. A rate that switches the cache is always watched.
  localparam int STILL_BITS = 10;
  logic                active;
  logic [STILL_BITS:0] still;

  assign active = rx_valid != '0 || tx_valid != '0 || reg_read || reg_write || lake_busy
      || normal_valid || dram_valid || sram_enable || memory_counters.miss_live != '0
      || control[0][1:0] == netfpga_pkg::CACHE_ADAPTIVE;
  assign idle   = still[STILL_BITS];

  always_ff @(posedge clk) begin
    if (rst || active) still <= '0;
    else if (!idle) still <= still + 1'b1;
  end

  // Read-only registers, from the lowest address on. They are collected for a read only: a
  // simulation skips that in all other cycles.
  always_comb begin
    status = '0;
    if (reg_read) begin
      status = {
        corrupt_frames, queue_dropped, transmitted, received,
        memory_counters, counters,
        starved_cycles, busy_cycles, lake_dropped, lake_accepted, rate, epoch_count,
        {27'd0, busy, pause, quiet, cache_on, initialized},
        32'h4c61_4b65  // "LaKe"
      };
    end
  end

  logic unused;
  assign unused = &{1'b0, control, flush_control, normal_level, normal_accepted, normal_dropped, fifo_ready,
                    fifo_level};
endmodule
