// LaKe with one safety rule broken at a time, for simulation only. A write to the register at the
// last address chooses the mutant; 0, after reset, is LaKe as it is. netkv/schemes/lake/mutants.py lists them.
// Memories are small, and units of time short, so that tests reach their limits in few cycles.
module lake_mutants #(
    parameter int NETWORK_PORTS = 4,
    parameter int BYTES = 32,
    parameter int PRESCALE = 7,
    parameter int HASH_BITS = 12,
    parameter int CHUNKS_64 = 4096,
    parameter int CHUNKS_128 = 1024,
    parameter int CHUNKS_256 = 512,
    parameter int CHUNKS_512 = 256,
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
  always_ff @(posedge clk) begin
    if (rst) mutant_pkg::ID <= 0;
    else if (reg_write && reg_address == 16'hfffc) mutant_pkg::ID <= reg_wdata;
  end

  lake_design #(
      .NETWORK_PORTS(NETWORK_PORTS),
      .BYTES(BYTES),
      .PRESCALE(PRESCALE),
      .HASH_BITS(HASH_BITS),
      .CHUNKS_64(CHUNKS_64),
      .CHUNKS_128(CHUNKS_128),
      .CHUNKS_256(CHUNKS_256),
      .CHUNKS_512(CHUNKS_512)
  ) lake (.*);
endmodule
