// Writes zero to the first LINES lines of a memory after reset, then passes requests through.
//
// The DRAM keeps its content over a reset, but the slab allocator starts anew: an old descriptor in
// the hash table would name a chunk that belongs to another key. So the hash table is cleared first.
// Throughput: one request a cycle. Latency: none after the clearing.
module line_clearer #(
    parameter int LINES = 512,
    parameter int TAG_BITS = 3
) (
    input  logic                    clk,
    input  logic                    rst,
    output logic                    done,

    input  logic                    s_valid,
    output logic                    s_ready,
    input  lake_pkg::line_request_t s_request,
    input  logic [TAG_BITS-1:0]     s_tag,

    output logic                    m_valid,
    input  logic                    m_ready,
    output lake_pkg::line_request_t m_request,
    output logic [TAG_BITS-1:0]     m_tag
);
  lake_pkg::line_request_t clear_request;
  logic [lake_pkg::ADDRESS_BITS-1:0] address;

  assign clear_request = {1'b1, address, {lake_pkg::LINE_BITS{1'b0}}};
  assign m_valid   = !done || s_valid;
  assign m_request = done ? s_request : clear_request;
  assign m_tag     = done ? s_tag : '0;
  assign s_ready   = done && m_ready;

  always_ff @(posedge clk) begin
    if (rst) begin
      done    <= 1'b0;
      address <= '0;
    end else if (!done && m_ready) begin
      done    <= address == lake_pkg::ADDRESS_BITS'(LINES - 1);
      address <= address + 1'b1;
    end
  end
endmodule
