// Halves the words of a stream: the lower bytes of a word come first. A half without bytes of the
// frame is left out.
// Throughput: one half a cycle. Latency: none; the path is combinational.
module word_narrower #(
    parameter int BYTES = 64  // of a word of s_; a power of two
) (
    input  logic               clk,
    input  logic               rst,

    input  logic               s_valid,
    output logic               s_ready,
    input  logic [8*BYTES-1:0] s_data,
    input  logic               s_last,
    input  net_pkg::meta_t     s_meta,

    output logic               m_valid,
    input  logic               m_ready,
    output logic [4*BYTES-1:0] m_data,
    output logic               m_last,
    output net_pkg::meta_t     m_meta
);
  localparam int HALF_BITS = $clog2(BYTES / 2);

  logic        upper;      // the upper half is at the output
  logic        only_half;  // the frame ends in the lower half
  logic [15:0] last_byte;

  assign last_byte = s_meta.length - 16'd1;
  assign only_half = s_last && !last_byte[HALF_BITS];
  assign m_valid   = s_valid;
  assign m_data    = upper ? s_data[8*BYTES-1:4*BYTES] : s_data[4*BYTES-1:0];
  assign m_last    = s_last && (upper || only_half);
  assign m_meta    = s_meta;
  assign s_ready   = m_ready && (upper || only_half);

  always_ff @(posedge clk) begin
    if (rst) upper <= 1'b0;
    else if (m_valid && m_ready) upper <= !upper && !only_half;
  end

  logic unused;
  assign unused = &{1'b0, last_byte};
endmodule
