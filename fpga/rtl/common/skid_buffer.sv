// A register stage of a stream that cuts the path of `ready` as well as that of `valid`.
// Throughput: one word a cycle. Latency: one cycle.
module skid_buffer #(
    parameter int WIDTH = 8
) (
    input  logic             clk,
    input  logic             rst,

    input  logic             s_valid,
    output logic             s_ready,
    input  logic [WIDTH-1:0] s_data,

    output logic             m_valid,
    input  logic             m_ready,
    output logic [WIDTH-1:0] m_data
);
  // The word that arrives in the cycle in which the output stalls.
  logic             skid_valid;
  logic [WIDTH-1:0] skid_data;

  assign s_ready = !skid_valid;

  always_ff @(posedge clk) begin
    if (!m_valid || m_ready) begin
      m_data <= skid_valid ? skid_data : s_data;
    end
    if (s_ready) begin
      skid_data <= s_data;
    end
    if (rst) begin
      m_valid    <= 1'b0;
      skid_valid <= 1'b0;
    end else if (!m_valid || m_ready) begin
      m_valid    <= skid_valid || s_valid;
      skid_valid <= 1'b0;
    end else begin
      skid_valid <= skid_valid || s_valid;
    end
  end
endmodule
