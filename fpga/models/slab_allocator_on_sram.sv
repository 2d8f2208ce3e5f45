// A slab allocator on a model of its SRAM, for its bench (not for synthesis).
module slab_allocator_on_sram #(
    parameter int CHUNKS_64 = 1024,
    parameter int CHUNKS_128 = 1024,
    parameter int CHUNKS_256 = 1024,
    parameter int CHUNKS_512 = 1024,
    parameter int FREE_ENTRIES = 0,
    parameter int PREFETCH = 16,
    parameter int SRAM_LATENCY = 8,
    parameter int TAG_BITS = 3
) (
    input  logic                     clk,
    input  logic                     rst,
    input  logic [31:0]              seed,
    input  logic                     s_valid,
    output logic                     s_ready,
    input  lake_pkg::slab_request_t  s_request,
    input  logic [TAG_BITS-1:0]      s_tag,
    output logic                     s_response_valid,
    output lake_pkg::slab_response_t s_response,
    output logic [TAG_BITS-1:0]      s_response_tag,
    output logic [3:0][31:0]         in_use,
    output logic                     fail_event,
    output logic                     lost_event
);
  localparam int SRAM_ADDRESS_BITS = 12;

  logic                         sram_enable;
  logic                         sram_write;
  logic [SRAM_ADDRESS_BITS-1:0] sram_address;
  logic [31:0]                  sram_wdata;
  logic [31:0]                  sram_rdata;

  slab_allocator #(
      .CHUNKS_64(CHUNKS_64),
      .CHUNKS_128(CHUNKS_128),
      .CHUNKS_256(CHUNKS_256),
      .CHUNKS_512(CHUNKS_512),
      .FREE_ENTRIES(FREE_ENTRIES),
      .PREFETCH(PREFETCH),
      .SRAM_LATENCY(SRAM_LATENCY),
      .SRAM_ADDRESS_BITS(SRAM_ADDRESS_BITS),
      .TAG_BITS(TAG_BITS)
  ) slabs (.*);

  sram_model #(
      .LATENCY(SRAM_LATENCY),
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
