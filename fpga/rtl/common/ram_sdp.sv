// Simple dual-port RAM: one port writes, the other reads into a register.
// Throughput: one read and one write a cycle. Latency: one cycle. A read of the address that is
// written in the same cycle gives the old word. Synthesis infers block RAM.
module ram_sdp #(
    parameter int WIDTH = 64,
    parameter int DEPTH = 512
) (
    input  logic                     clk,

    input  logic                     write_enable,
    input  logic [$clog2(DEPTH)-1:0] write_address,
    input  logic [WIDTH-1:0]         write_data,

    input  logic                     read_enable,
    input  logic [$clog2(DEPTH)-1:0] read_address,
    output logic [WIDTH-1:0]         read_data  // keeps its value without read_enable
);
  logic [WIDTH-1:0] memory[DEPTH];

  always_ff @(posedge clk) begin
    if (write_enable) memory[write_address] <= write_data;
    if (read_enable) read_data <= memory[read_address];
  end
endmodule
