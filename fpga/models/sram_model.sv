// Behavioural model of a QDR SRAM behind its controller (not for synthesis).
//
// The word that is read comes LATENCY cycles after `enable`: with `enable` in cycle t, `rdata` is
// valid in cycle t + LATENCY only. At all other times `rdata` is random, by `seed`, so that a reader
// at the wrong time is found. The content is random at the start.
// Source of the default: LaKe uses QDRII SRAM on the NetFPGA-SUME (paper, section III); a controller
// of that memory has a fixed pipeline of about 8 cycles at 200 MHz.
module sram_model #(
    parameter int LATENCY = 8,
    parameter int ADDRESS_BITS = 16,
    parameter int WIDTH = 32
) (
    input  logic                    clk,
    input  logic                    rst,
    input  logic [31:0]             seed,  // taken during reset
    input  logic                    enable,
    input  logic                    write,
    input  logic [ADDRESS_BITS-1:0] address,
    input  logic [WIDTH-1:0]        wdata,
    output logic [WIDTH-1:0]        rdata
);
  localparam int PLACE_BITS = LATENCY > 1 ? $clog2(LATENCY) : 1;

  logic [WIDTH-1:0] memory[1 << ADDRESS_BITS];
  logic [WIDTH-1:0] words[LATENCY];  // on their way; each stays at its place until it is read

  logic [PLACE_BITS-1:0] place;
  logic [31:0]           random;
  logic [31:0]           random_1;
  logic [31:0]           random_2;

  assign random_1 = random ^ (random << 13);
  assign random_2 = random_1 ^ (random_1 >> 17);
  assign rdata = words[place];

  always_ff @(posedge clk) begin
    random <= rst ? seed | 32'd1 : random_2 ^ (random_2 << 5);
    if (enable && write) begin
      memory[address] <= wdata;
    end
    words[place] <= enable && !write ? memory[address] : {(WIDTH + 31) / 32{random}}[WIDTH-1:0];
    place <= rst || place == PLACE_BITS'(LATENCY - 1) ? '0 : place + 1'b1;
  end
endmodule
