// On-chip line memory with the port of the DRAM, for the variant without external memory.
//
// Paper: section V, "we use a BRAM-based 1k entry cache as hash table and data store instead of a
// DRAM". The address wraps at LINES. It is always ready, and keeps its content over a reset.
// Throughput: one request a cycle. Latency of a read: one cycle.
module bram_memory #(
    parameter int LINES = 512,  // a power of two
    parameter int TAG_BITS = 3
) (
    input  logic                           clk,
    input  logic                           rst,

    input  logic                           s_valid,
    output logic                           s_ready,
    input  lake_pkg::line_request_t        s_request,
    input  logic [TAG_BITS-1:0]            s_tag,
    output logic                           s_response_valid,
    output logic [lake_pkg::LINE_BITS-1:0] s_response,
    output logic [TAG_BITS-1:0]            s_response_tag
);
  localparam int INDEX_BITS = $clog2(LINES);

  logic unused_bits;
  assign unused_bits = &{1'b0, s_request.address[lake_pkg::ADDRESS_BITS-1:INDEX_BITS]};

  assign s_ready = 1'b1;

  ram_sdp #(
      .WIDTH(lake_pkg::LINE_BITS),
      .DEPTH(LINES)
  ) ram (
      .clk,
      .write_enable(s_valid && s_request.write),
      .write_address(s_request.address[INDEX_BITS-1:0]),
      .write_data(s_request.data),
      .read_enable(s_valid && !s_request.write),
      .read_address(s_request.address[INDEX_BITS-1:0]),
      .read_data(s_response)
  );

  always_ff @(posedge clk) begin
    s_response_tag   <= s_tag;
    s_response_valid <= !rst && s_valid && !s_request.write;
  end
endmodule
