// LaKe with models of the memories beside the FPGA: the top of the simulated designs.
// Its ports are those of every top (docs/use/fpga.md).
module lake_design #(
    parameter int NETWORK_PORTS = 4,
    parameter int BYTES = 32,  // of a word: 32 or 64
    parameter int PES = 5,
    parameter int PRESCALE = 10,
    parameter int USE_DRAM = 1,
    parameter int USE_SRAM = 1,
    parameter int HASH_BITS = 14,
    parameter int CHUNKS_64 = 65536,
    parameter int CHUNKS_128 = 8192,
    parameter int CHUNKS_256 = 4096,
    parameter int CHUNKS_512 = 4096,
    parameter int FREE_ENTRIES = 0,
    parameter int CACHE_LINES = 1024,
    parameter int MISS_ENTRIES = 256,
    parameter int SRAM_LATENCY = 8,
    parameter int SRAM_ADDRESS_BITS = 18,
    localparam int PORTS = NETWORK_PORTS + 1
) (
    input  logic                          clk,
    input  logic                          rst,
    input  logic [31:0]                   seed,

    input  logic [PORTS-1:0]              rx_valid,
    output logic [PORTS-1:0]              rx_ready,
    input  logic [PORTS-1:0][8*BYTES-1:0] rx_data,
    input  logic [PORTS-1:0]              rx_last,
    input  logic [PORTS-1:0][15:0]        rx_meta_length,

    output logic [PORTS-1:0]              tx_valid,
    input  logic [PORTS-1:0]              tx_ready,
    output logic [PORTS-1:0][8*BYTES-1:0] tx_data,
    output logic [PORTS-1:0]              tx_last,
    output logic [PORTS-1:0][15:0]        tx_meta_length,

    input  logic [15:0]                   reg_address,
    input  logic                          reg_write,
    input  logic [31:0]                   reg_wdata,
    input  logic                          reg_read,
    output logic [31:0]                   reg_rdata,

    input  logic [31:0]                   skip,
    output logic [31:0]                   idle_cycles
);
  localparam int TAG_BITS = PES > 1 ? $clog2(PES) : 1;
  localparam int LINES = (1 << HASH_BITS) + CHUNKS_64 + 2 * CHUNKS_128 + 4 * CHUNKS_256
      + 8 * CHUNKS_512;

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
  logic                              idle;
  logic [31:0]                       dram_quiet_cycles;

  assign idle_cycles = idle ? dram_quiet_cycles : 32'd0;

  lake_top #(
      .NETWORK_PORTS(NETWORK_PORTS),
      .BYTES(BYTES),
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
  ) lake (.*);

  if (USE_DRAM != 0) begin : with_dram
    dram_model #(
        .LINES(1 << $clog2(LINES)),
        .TAG_BITS(TAG_BITS + 1)
    ) dram (
        .clk,
        .rst,
        .seed,
        .valid         (dram_valid),
        .ready         (dram_ready),
        .write         (dram_write),
        .address       (dram_address),
        .wdata         (dram_wdata),
        .tag           (dram_tag),
        .response_valid(dram_response_valid),
        .response_rdata(dram_response_rdata),
        .response_tag  (dram_response_tag),
        .skip,
        .quiet_cycles  (dram_quiet_cycles)
    );
  end else begin : without_dram
    logic unused;
    assign dram_ready          = 1'b0;
    assign dram_response_valid = 1'b0;
    assign dram_response_rdata = '0;
    assign dram_response_tag   = '0;
    assign dram_quiet_cycles   = 32'd4095;
    assign unused = &{1'b0, dram_valid, dram_write, dram_address, dram_wdata, dram_tag, seed};
  end

  if (USE_SRAM != 0) begin : with_sram
    sram_model #(
        .ADDRESS_BITS(SRAM_ADDRESS_BITS),
        .LATENCY(SRAM_LATENCY)
    ) sram (
        .clk,
        .rst,
        .seed,
        .enable (sram_enable),
        .write  (sram_write),
        .address(sram_address),
        .wdata  (sram_wdata),
        .rdata  (sram_rdata)
    );
  end else begin : without_sram
    logic unused;
    assign sram_rdata = '0;
    assign unused = &{1'b0, sram_enable, sram_write, sram_address, sram_wdata};
  end
endmodule
