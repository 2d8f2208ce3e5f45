// The memory side of LaKe on models of DRAM and SRAM, for its bench (not for synthesis).
module memory_system_on_models #(
    parameter int PES = 5,
    parameter int USE_DRAM = 1,
    parameter int USE_SRAM = 1,
    parameter int HASH_BITS = 12,
    parameter int CHUNKS_64 = 4096,
    parameter int CHUNKS_128 = 4096,
    parameter int CHUNKS_256 = 2048,
    parameter int CHUNKS_512 = 1024,
    parameter int CACHE_LINES = 1024,
    parameter int MISS_ENTRIES = 256,
    parameter int DRAM_LINES = 1 << 16,
    localparam int TAG_BITS = PES > 1 ? $clog2(PES) : 1
) (
    input  logic [31:0]                            seed,
    input  logic                                   clk,
    input  logic                                   rst,
    output logic                                   initialized,

    // Settings.
    input  logic                                   cache_enable,
    input  logic [memcached_pkg::TIME_BITS-1:0]         now,
    input  logic [memcached_pkg::TIME_BITS-1:0]         lifetime,

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

    // Counters; they wrap.
    output logic [31:0]                            hash_hits,
    output logic [31:0]                            hash_misses,
    output logic [31:0]                            hash_fills,
    output logic [31:0]                            data_hits,
    output logic [31:0]                            data_misses,
    output logic [31:0]                            data_fills,
    output logic [31:0]                            dram_read_cycles,
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
  localparam int SRAM_ADDRESS_BITS = 14;

  logic                              dram_valid;
  logic                              dram_ready;
  logic                              dram_write;
  logic [lake_pkg::ADDRESS_BITS-1:0] dram_address;
  logic [lake_pkg::LINE_BITS-1:0]    dram_wdata;
  logic [TAG_BITS:0]                 dram_tag;
  logic                              dram_response_valid;
  logic [lake_pkg::LINE_BITS-1:0]    dram_response_rdata;
  logic [TAG_BITS:0]                 dram_response_tag;
  logic                              sram_enable;
  logic                              sram_write;
  logic [SRAM_ADDRESS_BITS-1:0]      sram_address;
  logic [31:0]                       sram_wdata;
  logic [31:0]                       sram_rdata;

  memory_system #(
      .PES(PES),
      .USE_DRAM(USE_DRAM),
      .USE_SRAM(USE_SRAM),
      .HASH_BITS(HASH_BITS),
      .CHUNKS_64(CHUNKS_64),
      .CHUNKS_128(CHUNKS_128),
      .CHUNKS_256(CHUNKS_256),
      .CHUNKS_512(CHUNKS_512),
      .CACHE_LINES(CACHE_LINES),
      .MISS_ENTRIES(MISS_ENTRIES),
      .SRAM_ADDRESS_BITS(SRAM_ADDRESS_BITS)
  ) memory (.skip('0), .*);

  logic [31:0] unused_quiet_cycles;

  dram_model #(
      .LINES(DRAM_LINES),
      .TAG_BITS(TAG_BITS + 1)
  ) dram (
      .clk,
      .rst,
      .seed,
      .valid(dram_valid),
      .ready(dram_ready),
      .write(dram_write),
      .address(dram_address),
      .wdata(dram_wdata),
      .tag(dram_tag),
      .response_valid(dram_response_valid),
      .response_rdata(dram_response_rdata),
      .response_tag(dram_response_tag),
      .quiet_cycles(unused_quiet_cycles)
  );

  sram_model #(
      .ADDRESS_BITS(SRAM_ADDRESS_BITS)
  ) sram (
      .clk,
      .rst,
      .seed,
      .enable(sram_enable),
      .write(sram_write),
      .address(sram_address),
      .wdata(sram_wdata),
      .rdata(sram_rdata)
  );
endmodule
