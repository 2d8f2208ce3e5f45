// Doubles the words of a stream: the first of two becomes the lower half. If a frame ends with a
// lower half, the upper half is 0.
// Throughput: one word of s_ a cycle. Latency: none after the second of two; the path is
// combinational.
module word_widener #(
    parameter int BYTES = 64  // of a word of m_
) (
    input  logic               clk,
    input  logic               rst,

    input  logic               s_valid,
    output logic               s_ready,
    input  logic [4*BYTES-1:0] s_data,
    input  logic               s_last,
    input  net_pkg::meta_t     s_meta,

    output logic               m_valid,
    input  logic               m_ready,
    output logic [8*BYTES-1:0] m_data,
    output logic               m_last,
    output net_pkg::meta_t     m_meta
);
  logic               held;   // the lower half has arrived
  logic [4*BYTES-1:0] lower;
  logic               whole;

  assign whole   = held || s_last;
  assign m_valid = s_valid && whole;
  assign m_data  = held ? {s_data, lower} : {{4 * BYTES{1'b0}}, s_data};
  assign m_last  = s_last;
  assign m_meta  = s_meta;
  assign s_ready = whole ? m_ready : 1'b1;

  always_ff @(posedge clk) begin
    if (s_valid && !whole) lower <= s_data;
    if (rst) held <= 1'b0;
    else if (s_valid && s_ready) held <= !whole;
  end
endmodule
