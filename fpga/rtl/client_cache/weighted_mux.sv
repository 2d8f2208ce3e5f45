// Merges streams, frame by frame, as a weighted_scheduler says. A port takes part while it is
// `eligible`. Whole frames must wait at the ports: a frame that has begun keeps the output.
// The lower 32 bits of the metadata are a meta_t.
// Throughput: one word a cycle. Latency: one cycle, and one when another port gets its turn.
module weighted_mux #(
    parameter int PORTS = 2,
    parameter int BYTES = 64,
    parameter int META_BITS = net_pkg::META_BITS
) (
    input  logic                            clk,
    input  logic                            rst,
    input  logic [31:0]                     skip = '0,  // see weighted_scheduler

    input  logic [PORTS-1:0][15:0]          weight,
    input  logic [PORTS-1:0][15:0]          rate,
    input  logic [PORTS-1:0]                eligible,

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
  logic                   in_frame;
  logic [PORTS-1:0]       owner;  // of the frame
  logic [PORTS-1:0]       grant;
  logic [PORTS-1:0]       selected;
  logic [PORTS-1:0][15:0] length;
  logic                   space;
  logic                   transfer;
  logic                   last;

  for (genvar i = 0; i < PORTS; i++) begin : lengths
    assign length[i] = s_meta[i][31:16];
  end

  weighted_scheduler #(
      .PORTS(PORTS)
  ) scheduler (
      .clk,
      .rst,
      .skip,
      .weight,
      .rate,
      .request(s_valid & eligible),
      .length,
      .enable (!in_frame && space),
      .grant,
      .accept (transfer)
  );

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
