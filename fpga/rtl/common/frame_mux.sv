// Merges streams, frame by frame: a port that has begun a frame keeps the output to its last word.
// The next port is chosen round robin, or by strict priority (STRICT: port 0 first).
// Throughput: one word a cycle, without a gap between frames. Latency: one cycle.
module frame_mux #(
    parameter int PORTS = 2,
    parameter int BYTES = 32,
    parameter int META_BITS = net_pkg::META_BITS,
    parameter bit STRICT = 1'b0
) (
    input  logic                            clk,
    input  logic                            rst,

    input  logic [PORTS-1:0]                s_valid,
    output logic [PORTS-1:0]                s_ready,
    input  logic [PORTS-1:0][8*BYTES-1:0]   s_data,
    input  logic [PORTS-1:0]                s_last,
    input  logic [PORTS-1:0][META_BITS-1:0] s_meta,

    output logic                            m_valid,
    input  logic                            m_ready,
    output logic [8*BYTES-1:0]              m_data,
    output logic                            m_last,
    output logic [META_BITS-1:0]            m_meta,
    output logic [PORTS-1:0]                m_port  // one-hot: where the frame comes from
);
  logic             in_frame;
  logic [PORTS-1:0] owner;  // of the frame
  logic [PORTS-1:0] grant;
  logic [PORTS-1:0] selected;
  logic             space;
  logic             transfer;
  logic             last;

  if (STRICT) begin : strict
    assign grant = s_valid & (~s_valid + 1'b1);
  end else begin : fair
    round_robin_arbiter #(
        .REQUESTS(PORTS)
    ) arbiter (
        .clk,
        .rst,
        .request(s_valid),
        .grant,
        .accept (transfer && !in_frame)
    );
  end

  assign selected = in_frame ? owner : grant;
  assign space    = !m_valid || m_ready;
  assign s_ready  = space ? selected : '0;
  assign transfer = (s_valid & s_ready) != '0;
  assign last     = (s_last & selected) != '0;

  always_ff @(posedge clk) begin
    if (space) begin
      m_last <= last;
      m_port <= selected;
      for (int i = 0; i < PORTS; i++) begin
        if (selected[i]) begin
          m_data <= s_data[i];
          m_meta <= s_meta[i];
        end
      end
    end
    if (rst) begin
      m_valid  <= 1'b0;
      in_frame <= 1'b0;
    end else begin
      if (space) m_valid <= transfer;
      if (transfer) in_frame <= !last;
    end
    if (transfer) owner <= selected;
  end
endmodule
