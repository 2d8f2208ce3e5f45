// The memory side of LaKe: five shared services for the processing elements (PEs).
//
// Paper: figure 3 and sections II-C to II-F. Each service is behind one `service_network`:
//   hash  lines of the hash table (bucket b is line b)    DRAM through a line_cache, or on-chip
//   data  lines of the chunks                             DRAM through a line_cache, or on-chip
//   slab  slab_allocator                                  free lists in SRAM, or on-chip
//   guard guard_table                                     on-chip
//   miss  miss_table                                      on-chip
//
// Variants: USE_DRAM = 0 puts both regions into on-chip memory, without caches; USE_SRAM = 0 puts the
// free lists into on-chip memory. The ports of memories that are not used stay idle.
// DRAM: lines [0, 2^HASH_BITS) are the hash table, the data region follows. The paper's variant without
// external memory has HASH_BITS 9 (4,096 descriptors), 512 chunks, and with FREE_ENTRIES 20 a free list
// of 144 entries (20 and a FIFO of 16 for each class), which loses chunks; 0 keeps them all.
//
// After reset `initialized` is low until hash table, caches and tables are cleared. Requests wait until
// their service is ready.
module memory_system #(
    parameter int PES = 5,
    parameter int USE_DRAM = 1,
    parameter int USE_SRAM = 1,
    parameter int HASH_BITS = 12,        // 2^HASH_BITS buckets of eight descriptors
    parameter int CHUNKS_64 = 4096,
    parameter int CHUNKS_128 = 4096,
    parameter int CHUNKS_256 = 2048,
    parameter int CHUNKS_512 = 1024,
    parameter int FREE_ENTRIES = 0,      // see slab_allocator
    parameter int CACHE_LINES = 1024,
    parameter int MISS_ENTRIES = 256,
    parameter int GUARD_MARGIN = 16,
    parameter int SRAM_LATENCY = 8,
    parameter int SRAM_ADDRESS_BITS = 16,
    localparam int TAG_BITS = PES > 1 ? $clog2(PES) : 1
) (
    input  logic                                   clk,
    input  logic                                   rst,
    output logic                                   initialized,

    // Settings.
    input  logic                                   cache_enable,
    input  logic [memcached_pkg::TIME_BITS-1:0]         now,
    input  logic [memcached_pkg::TIME_BITS-1:0]         lifetime,
    input  logic [31:0]                            skip = '0,  // further cycles that pass: see miss_table

    // Services.
    input  logic [PES-1:0]                         hash_valid,
    output logic [PES-1:0]                         hash_ready,
    input  logic [PES-1:0][lake_pkg::LINE_REQUEST_STRIDE-1:0] hash_request,
    output logic [PES-1:0]                         hash_response_valid,
    output logic [lake_pkg::LINE_BITS-1:0]         hash_response,

    input  logic [PES-1:0]                         data_valid,
    output logic [PES-1:0]                         data_ready,
    input  logic [PES-1:0][lake_pkg::LINE_REQUEST_STRIDE-1:0] data_request,
    output logic [PES-1:0]                         data_response_valid,
    output logic [lake_pkg::LINE_BITS-1:0]         data_response,

    input  logic [PES-1:0]                         slab_valid,
    output logic [PES-1:0]                         slab_ready,
    input  logic [PES-1:0][lake_pkg::SLAB_REQUEST_STRIDE-1:0] slab_request,
    output logic [PES-1:0]                         slab_response_valid,
    output lake_pkg::slab_response_t               slab_response,

    input  logic [PES-1:0]                         guard_valid,
    output logic [PES-1:0]                         guard_ready,
    input  logic [PES-1:0][lake_pkg::GUARD_REQUEST_STRIDE-1:0] guard_request,
    output logic [PES-1:0]                         guard_response_valid,
    output memcached_pkg::guard_response_t              guard_response,

    input  logic [PES-1:0]                         miss_valid,
    output logic [PES-1:0]                         miss_ready,
    input  logic [PES-1:0][lake_pkg::MISS_REQUEST_STRIDE-1:0] miss_request,
    output logic [PES-1:0]                         miss_response_valid,
    output lake_pkg::miss_response_t               miss_response,

    // External DRAM.
    output logic                                   dram_valid,
    input  logic                                   dram_ready,
    output logic                                   dram_write,
    output logic [lake_pkg::ADDRESS_BITS-1:0]      dram_address,
    output logic [lake_pkg::LINE_BITS-1:0]         dram_wdata,
    output logic [TAG_BITS:0]                      dram_tag,
    input  logic                                   dram_response_valid,
    input  logic [lake_pkg::LINE_BITS-1:0]         dram_response_rdata,
    input  logic [TAG_BITS:0]                      dram_response_tag,

    // External SRAM: data of a read come SRAM_LATENCY cycles later.
    output logic                                   sram_enable,
    output logic                                   sram_write,
    output logic [SRAM_ADDRESS_BITS-1:0]           sram_address,
    output logic [31:0]                            sram_wdata,
    input  logic [31:0]                            sram_rdata,

    // Counters; they wrap.
    output logic [31:0]                            hash_hits,
    output logic [31:0]                            hash_misses,
    output logic [31:0]                            hash_fills,
    output logic [31:0]                            data_hits,
    output logic [31:0]                            data_misses,
    output logic [31:0]                            data_fills,
    output logic [31:0]                            dram_read_cycles,  // each read: until its data come
    output logic [31:0]                            dram_reads,
    output logic [31:0]                            dram_writes,
    output logic [31:0]                            sram_reads,
    output logic [31:0]                            sram_writes,
    output logic [31:0]                            alloc_failures,
    output logic [31:0]                            lost_chunks,
    output logic [31:0]                            miss_inserts,
    output logic [31:0]                            miss_full,
    output logic [31:0]                            miss_ambiguous,
    output logic [31:0]                            miss_expired,
    // Gauges.
    output logic [3:0][31:0]                       chunks_in_use,
    output logic [31:0]                            miss_live
);
  localparam int HASH_LINES = 1 << HASH_BITS;
  localparam int DATA_LINES = CHUNKS_64 + 2 * CHUNKS_128 + 4 * CHUNKS_256 + 8 * CHUNKS_512;
  localparam int DATA_BITS = $clog2(DATA_LINES);

  // Hash table, data: between network and memory.
  logic                           hash_service_valid;
  logic                           hash_service_ready;
  lake_pkg::line_request_t        hash_service_request;
  logic [TAG_BITS-1:0]            hash_service_tag;
  logic                           hash_memory_valid;
  logic                           hash_memory_ready;
  lake_pkg::line_request_t        hash_memory_request;
  logic [TAG_BITS-1:0]            hash_memory_tag;
  logic                           hash_memory_response_valid;
  logic [lake_pkg::LINE_BITS-1:0] hash_memory_response;
  logic [TAG_BITS-1:0]            hash_memory_response_tag;
  logic                           data_memory_valid;
  logic                           data_memory_ready;
  lake_pkg::line_request_t        data_memory_request;
  logic [TAG_BITS-1:0]            data_memory_tag;
  logic                           data_memory_response_valid;
  logic [lake_pkg::LINE_BITS-1:0] data_memory_response;
  logic [TAG_BITS-1:0]            data_memory_response_tag;
  logic                           hash_cleared;

  service_network #(
      .PES(PES),
      .REQUEST_BITS(lake_pkg::LINE_REQUEST_BITS),
      .RESPONSE_BITS(lake_pkg::LINE_BITS)
  ) hash_network (
      .clk,
      .rst,
      .pe_valid(hash_valid),
      .pe_ready(hash_ready),
      .pe_request(hash_request),
      .pe_response_valid(hash_response_valid),
      .pe_response(hash_response),
      .valid(hash_service_valid),
      .ready(hash_service_ready),
      .request(hash_service_request),
      .tag(hash_service_tag),
      .response_valid(hash_memory_response_valid),
      .response(hash_memory_response),
      .response_tag(hash_memory_response_tag)
  );

  line_clearer #(
      .LINES(HASH_LINES),
      .TAG_BITS(TAG_BITS)
  ) hash_clearer (
      .clk,
      .rst,
      .done(hash_cleared),
      .s_valid(hash_service_valid),
      .s_ready(hash_service_ready),
      .s_request(hash_service_request),
      .s_tag(hash_service_tag),
      .m_valid(hash_memory_valid),
      .m_ready(hash_memory_ready),
      .m_request(hash_memory_request),
      .m_tag(hash_memory_tag)
  );

  service_network #(
      .PES(PES),
      .REQUEST_BITS(lake_pkg::LINE_REQUEST_BITS),
      .RESPONSE_BITS(lake_pkg::LINE_BITS)
  ) data_network (
      .clk,
      .rst,
      .pe_valid(data_valid),
      .pe_ready(data_ready),
      .pe_request(data_request),
      .pe_response_valid(data_response_valid),
      .pe_response(data_response),
      .valid(data_memory_valid),
      .ready(data_memory_ready),
      .request(data_memory_request),
      .tag(data_memory_tag),
      .response_valid(data_memory_response_valid),
      .response(data_memory_response),
      .response_tag(data_memory_response_tag)
  );

  logic hash_hit_event;
  logic hash_miss_event;
  logic hash_fill_event;
  logic data_hit_event;
  logic data_miss_event;
  logic data_fill_event;

  if (USE_DRAM != 0) begin : gen_dram
    logic                           hash_dram_valid;
    logic                           hash_dram_ready;
    lake_pkg::line_request_t        hash_dram_request;
    logic [TAG_BITS-1:0]            hash_dram_tag;
    logic                           hash_dram_response_valid;
    logic                           data_dram_valid;
    logic                           data_dram_ready;
    lake_pkg::line_request_t        data_dram_request;
    logic [TAG_BITS-1:0]            data_dram_tag;
    logic                           data_dram_response_valid;
    logic [lake_pkg::LINE_BITS-1:0] dram_line;
    logic [TAG_BITS-1:0]            dram_line_tag;
    lake_pkg::line_request_t        dram_request;

    line_cache #(
        .LINES(CACHE_LINES),
        .TAGS (PES)
    ) hash_cache (
        .clk,
        .rst,
        .enable(cache_enable),
        .s_valid(hash_memory_valid),
        .s_ready(hash_memory_ready),
        .s_request(hash_memory_request),
        .s_tag(hash_memory_tag),
        .s_response_valid(hash_memory_response_valid),
        .s_response(hash_memory_response),
        .s_response_tag(hash_memory_response_tag),
        .m_valid(hash_dram_valid),
        .m_ready(hash_dram_ready),
        .m_request(hash_dram_request),
        .m_tag(hash_dram_tag),
        .m_response_valid(hash_dram_response_valid),
        .m_response(dram_line),
        .m_response_tag(dram_line_tag),
        .hit_event(hash_hit_event),
        .miss_event(hash_miss_event),
        .fill_event(hash_fill_event)
    );

    line_cache #(
        .LINES(CACHE_LINES),
        .TAGS (PES)
    ) data_cache (
        .clk,
        .rst,
        .enable(cache_enable),
        .s_valid(data_memory_valid),
        .s_ready(data_memory_ready),
        .s_request(data_memory_request),
        .s_tag(data_memory_tag),
        .s_response_valid(data_memory_response_valid),
        .s_response(data_memory_response),
        .s_response_tag(data_memory_response_tag),
        .m_valid(data_dram_valid),
        .m_ready(data_dram_ready),
        .m_request(data_dram_request),
        .m_tag(data_dram_tag),
        .m_response_valid(data_dram_response_valid),
        .m_response(dram_line),
        .m_response_tag(dram_line_tag),
        .hit_event(data_hit_event),
        .miss_event(data_miss_event),
        .fill_event(data_fill_event)
    );

    dram_arbiter #(
        .HASH_BASE(0),
        .DATA_BASE(HASH_LINES),
        .TAG_BITS (TAG_BITS)
    ) arbiter (
        .clk,
        .rst,
        .hash_valid(hash_dram_valid),
        .hash_ready(hash_dram_ready),
        .hash_request(hash_dram_request),
        .hash_tag(hash_dram_tag),
        .hash_response_valid(hash_dram_response_valid),
        .data_valid(data_dram_valid),
        .data_ready(data_dram_ready),
        .data_request(data_dram_request),
        .data_tag(data_dram_tag),
        .data_response_valid(data_dram_response_valid),
        .response(dram_line),
        .response_tag(dram_line_tag),
        .dram_valid,
        .dram_ready,
        .dram_request,
        .dram_tag,
        .dram_response_valid,
        .dram_response(dram_response_rdata),
        .dram_response_tag
    );

    assign dram_write   = dram_request.write;
    assign dram_address = dram_request.address;
    assign dram_wdata   = dram_request.data;
  end else begin : gen_bram
    logic unused_dram;
    assign unused_dram = &{1'b0, cache_enable, dram_ready, dram_response_valid, dram_response_rdata,
                           dram_response_tag};
    assign dram_valid   = 1'b0;
    assign dram_write   = 1'b0;
    assign dram_address = '0;
    assign dram_wdata   = '0;
    assign dram_tag     = '0;
    assign hash_hit_event  = 1'b0;
    assign hash_miss_event = 1'b0;
    assign hash_fill_event = 1'b0;
    assign data_hit_event  = 1'b0;
    assign data_miss_event = 1'b0;
    assign data_fill_event = 1'b0;

    bram_memory #(
        .LINES(HASH_LINES),
        .TAG_BITS(TAG_BITS)
    ) hash_memory (
        .clk,
        .rst,
        .s_valid(hash_memory_valid),
        .s_ready(hash_memory_ready),
        .s_request(hash_memory_request),
        .s_tag(hash_memory_tag),
        .s_response_valid(hash_memory_response_valid),
        .s_response(hash_memory_response),
        .s_response_tag(hash_memory_response_tag)
    );

    bram_memory #(
        .LINES(1 << DATA_BITS),
        .TAG_BITS(TAG_BITS)
    ) data_memory (
        .clk,
        .rst,
        .s_valid(data_memory_valid),
        .s_ready(data_memory_ready),
        .s_request(data_memory_request),
        .s_tag(data_memory_tag),
        .s_response_valid(data_memory_response_valid),
        .s_response(data_memory_response),
        .s_response_tag(data_memory_response_tag)
    );
  end

  // Slab allocator.
  logic                     slab_service_valid;
  logic                     slab_service_ready;
  lake_pkg::slab_request_t  slab_service_request;
  logic [TAG_BITS-1:0]      slab_service_tag;
  logic                     slab_service_response_valid;
  lake_pkg::slab_response_t slab_service_response;
  logic [TAG_BITS-1:0]      slab_service_response_tag;
  logic                         free_enable;
  logic                         free_write;
  logic [SRAM_ADDRESS_BITS-1:0] free_address;
  logic [31:0]                  free_wdata;
  logic [31:0]                  free_rdata;
  logic                         fail_event;
  logic                         lost_event;

  service_network #(
      .PES(PES),
      .REQUEST_BITS(lake_pkg::SLAB_REQUEST_BITS),
      .RESPONSE_BITS($bits(slab_service_response))
  ) slab_network (
      .clk,
      .rst,
      .pe_valid(slab_valid),
      .pe_ready(slab_ready),
      .pe_request(slab_request),
      .pe_response_valid(slab_response_valid),
      .pe_response(slab_response),
      .valid(slab_service_valid),
      .ready(slab_service_ready),
      .request(slab_service_request),
      .tag(slab_service_tag),
      .response_valid(slab_service_response_valid),
      .response(slab_service_response),
      .response_tag(slab_service_response_tag)
  );

  slab_allocator #(
      .CHUNKS_64(CHUNKS_64),
      .CHUNKS_128(CHUNKS_128),
      .CHUNKS_256(CHUNKS_256),
      .CHUNKS_512(CHUNKS_512),
      .FREE_ENTRIES(FREE_ENTRIES),
      .SRAM_LATENCY(USE_SRAM != 0 ? SRAM_LATENCY : 1),
      .SRAM_ADDRESS_BITS(SRAM_ADDRESS_BITS),
      .TAG_BITS(TAG_BITS)
  ) slabs (
      .clk,
      .rst,
      .s_valid(slab_service_valid),
      .s_ready(slab_service_ready),
      .s_request(slab_service_request),
      .s_tag(slab_service_tag),
      .s_response_valid(slab_service_response_valid),
      .s_response(slab_service_response),
      .s_response_tag(slab_service_response_tag),
      .sram_enable(free_enable),
      .sram_write(free_write),
      .sram_address(free_address),
      .sram_wdata(free_wdata),
      .sram_rdata(free_rdata),
      .in_use(chunks_in_use),
      .fail_event,
      .lost_event
  );

  if (USE_SRAM != 0) begin : gen_sram
    assign sram_enable  = free_enable;
    assign sram_write   = free_write;
    assign sram_address = free_address;
    assign sram_wdata   = free_wdata;
    assign free_rdata   = sram_rdata;
  end else begin : gen_no_sram
    localparam int FREE_WORDS = CHUNKS_64 + CHUNKS_128 + CHUNKS_256 + CHUNKS_512;
    localparam int FREE_BITS = $clog2(FREE_WORDS);

    logic unused_sram;
    assign unused_sram  = &{1'b0, sram_rdata, free_address};
    assign sram_enable  = 1'b0;
    assign sram_write   = 1'b0;
    assign sram_address = '0;
    assign sram_wdata   = '0;

    ram_sdp #(
        .WIDTH(32),
        .DEPTH(1 << FREE_BITS)
    ) free_lists (
        .clk,
        .write_enable(free_enable && free_write),
        .write_address(free_address[FREE_BITS-1:0]),
        .write_data(free_wdata),
        .read_enable(free_enable && !free_write),
        .read_address(free_address[FREE_BITS-1:0]),
        .read_data(free_rdata)
    );
  end

  // Guard table.
  logic                      guard_service_valid;
  logic                      guard_service_ready;
  memcached_pkg::guard_request_t  guard_service_request;
  logic [TAG_BITS-1:0]       guard_service_tag;
  logic                      guard_service_response_valid;
  memcached_pkg::guard_response_t guard_service_response;
  logic [TAG_BITS-1:0]       guard_service_response_tag;

  service_network #(
      .PES(PES),
      .REQUEST_BITS(memcached_pkg::GUARD_REQUEST_BITS),
      .RESPONSE_BITS($bits(guard_service_response))
  ) guard_network (
      .clk,
      .rst,
      .pe_valid(guard_valid),
      .pe_ready(guard_ready),
      .pe_request(guard_request),
      .pe_response_valid(guard_response_valid),
      .pe_response(guard_response),
      .valid(guard_service_valid),
      .ready(guard_service_ready),
      .request(guard_service_request),
      .tag(guard_service_tag),
      .response_valid(guard_service_response_valid),
      .response(guard_service_response),
      .response_tag(guard_service_response_tag)
  );

  guard_table #(
      .MARGIN  (GUARD_MARGIN),
      .TAG_BITS(TAG_BITS)
  ) guards (
      .clk,
      .rst,
      .now,
      .lifetime,
      .s_valid(guard_service_valid),
      .s_ready(guard_service_ready),
      .s_request(guard_service_request),
      .s_tag(guard_service_tag),
      .s_response_valid(guard_service_response_valid),
      .s_response(guard_service_response),
      .s_response_tag(guard_service_response_tag)
  );

  // Miss table.
  logic                     miss_service_valid;
  logic                     miss_service_ready;
  lake_pkg::miss_request_t  miss_service_request;
  logic [TAG_BITS-1:0]      miss_service_tag;
  logic                     miss_service_response_valid;
  lake_pkg::miss_response_t miss_service_response;
  logic [TAG_BITS-1:0]      miss_service_response_tag;
  logic [8:0]               live_entries;
  logic                     misses_still;
  logic                     insert_event;
  logic                     full_event;
  logic                     ambiguous_event;
  logic                     expire_event;

  service_network #(
      .PES(PES),
      .REQUEST_BITS(lake_pkg::MISS_REQUEST_BITS),
      .RESPONSE_BITS($bits(miss_service_response))
  ) miss_network (
      .clk,
      .rst,
      .pe_valid(miss_valid),
      .pe_ready(miss_ready),
      .pe_request(miss_request),
      .pe_response_valid(miss_response_valid),
      .pe_response(miss_response),
      .valid(miss_service_valid),
      .ready(miss_service_ready),
      .request(miss_service_request),
      .tag(miss_service_tag),
      .response_valid(miss_service_response_valid),
      .response(miss_service_response),
      .response_tag(miss_service_response_tag)
  );

  miss_table #(
      .ENTRIES   (MISS_ENTRIES),
      .TAG_BITS  (TAG_BITS),
      .MATCH_BITS(lake_pkg::MISS_TAG_BITS),
      .ENTRY_BITS(lake_pkg::MISS_ENTRY_BITS),
      .KEY_BITS  (lake_pkg::WINDOW_BITS)
  ) misses (
      .clk,
      .rst,
      .now,
      .lifetime,
      .skip,
      .still(misses_still),
      .s_valid(miss_service_valid),
      .s_ready(miss_service_ready),
      .s_command(memcached_pkg::miss_command_t'(miss_service_request.command)),
      .s_slot(miss_service_request.slot),
      .s_window(miss_service_request.window),
      .s_match(miss_service_request.tag),
      .s_entry(miss_service_request.entry),
      .s_key(miss_service_request.key),
      .s_tag(miss_service_tag),
      .s_response_valid(miss_service_response_valid),
      .s_response_hit(miss_service_response.hit),
      .s_response_ambiguous(miss_service_response.ambiguous),
      .s_response_slot(miss_service_response.slot),
      .s_response_entry(miss_service_response.entry),
      .s_response_key(miss_service_response.key),
      .s_response_tag(miss_service_response_tag),
      .live_entries,
      .insert_event,
      .full_event,
      .ambiguous_event,
      .expire_event
  );

  assign miss_live = 32'(live_entries);

  logic unused_still;
  assign unused_still = &{1'b0, misses_still};

  // All clearings end within their number of entries.
  localparam int TABLES = CACHE_LINES > 4096 ? CACHE_LINES : 4096;
  logic [31:0] since_reset;
  logic [7:0]  dram_reading;  // reads that the DRAM has taken and not answered

  // Each read counts in every cycle from its request at the port to its data.
  always_ff @(posedge clk) begin
    if (rst) begin
      dram_reading     <= '0;
      dram_read_cycles <= '0;
    end else begin
      dram_reading     <= dram_reading + 8'(dram_valid && dram_ready && !dram_write)
          - 8'(dram_response_valid && dram_reading != '0);
      dram_read_cycles <= dram_read_cycles + 32'(dram_reading)
          + 32'(dram_valid && !dram_ready && !dram_write);
    end
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      since_reset    <= '0;
      initialized    <= 1'b0;
      hash_hits      <= '0;
      hash_misses    <= '0;
      hash_fills     <= '0;
      data_hits      <= '0;
      data_misses    <= '0;
      data_fills     <= '0;
      dram_reads     <= '0;
      dram_writes    <= '0;
      sram_reads     <= '0;
      sram_writes    <= '0;
      alloc_failures <= '0;
      lost_chunks    <= '0;
      miss_inserts   <= '0;
      miss_full      <= '0;
      miss_ambiguous <= '0;
      miss_expired   <= '0;
    end else begin
      if (!initialized) begin
        since_reset <= since_reset + 1'b1;
        initialized <= hash_cleared && since_reset >= TABLES;
      end
      hash_hits      <= hash_hits + 32'(hash_hit_event);
      hash_misses    <= hash_misses + 32'(hash_miss_event);
      hash_fills     <= hash_fills + 32'(hash_fill_event);
      data_hits      <= data_hits + 32'(data_hit_event);
      data_misses    <= data_misses + 32'(data_miss_event);
      data_fills     <= data_fills + 32'(data_fill_event);
      dram_reads     <= dram_reads + 32'(dram_valid && dram_ready && !dram_write);
      dram_writes    <= dram_writes + 32'(dram_valid && dram_ready && dram_write);
      sram_reads     <= sram_reads + 32'(sram_enable && !sram_write);
      sram_writes    <= sram_writes + 32'(sram_enable && sram_write);
      alloc_failures <= alloc_failures + 32'(fail_event);
      lost_chunks    <= lost_chunks + 32'(lost_event);
      miss_inserts   <= miss_inserts + 32'(insert_event);
      miss_full      <= miss_full + 32'(full_event);
      miss_ambiguous <= miss_ambiguous + 32'(ambiguous_event);
      miss_expired   <= miss_expired + 32'(expire_event);
    end
  end
endmodule
