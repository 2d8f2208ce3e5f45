// Sends each frame to the ports that `s_select` names at its first word: one port, several (the
// frame is copied, at the pace of the slowest), or none (the frame is discarded).
// All ports share data, last and meta. Throughput: one word a cycle. Latency: one cycle.
module frame_demux #(
    parameter int PORTS = 2,
    parameter int BYTES = 32,
    parameter int META_BITS = net_pkg::META_BITS
) (
    input  logic                 clk,
    input  logic                 rst,

    input  logic                 s_valid,
    output logic                 s_ready,
    input  logic [8*BYTES-1:0]   s_data,
    input  logic                 s_last,
    input  logic [META_BITS-1:0] s_meta,
    input  logic [PORTS-1:0]     s_select,  // mask of ports; only the value at the first word counts

    output logic [PORTS-1:0]     m_valid,
    input  logic [PORTS-1:0]     m_ready,
    output logic [8*BYTES-1:0]   m_data,
    output logic                 m_last,
    output logic [META_BITS-1:0] m_meta
);
  logic             in_frame;
  logic [PORTS-1:0] held;  // the ports of the frame
  logic [PORTS-1:0] selected;

  assign selected = in_frame ? held : s_select;
  assign s_ready  = (m_valid & ~m_ready) == '0;

  always_ff @(posedge clk) begin
    if (s_ready) begin
      m_data <= s_data;
      m_last <= s_last;
      m_meta <= s_meta;
    end
    if (s_valid && s_ready) held <= selected;
    if (rst) begin
      m_valid  <= '0;
      in_frame <= 1'b0;
    end else begin
      if (s_ready) m_valid <= s_valid ? selected : '0;
      else m_valid <= m_valid & ~m_ready;
      if (s_valid && s_ready) in_frame <= !s_last;
    end
  end
endmodule
