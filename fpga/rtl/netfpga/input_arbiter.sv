// Input Arbiter (paper, figure 2): a frame FIFO for each port, then round robin by frames. It
// writes the port into the metadata; the destination is open.
// Throughput: one word a cycle over all ports. Latency: three cycles after a frame's last word.
module input_arbiter #(
    parameter int PORTS = 5,  // at most 8
    parameter int BYTES = 32,
    parameter int DEPTH = 64  // words of a FIFO; a full one stalls its port
) (
    input  logic                          clk,
    input  logic                          rst,

    input  logic [PORTS-1:0]              s_valid,
    output logic [PORTS-1:0]              s_ready,
    input  logic [PORTS-1:0][8*BYTES-1:0] s_data,
    input  logic [PORTS-1:0]              s_last,
    input  logic [PORTS-1:0][15:0]        s_length,  // bytes of the frame, with each word

    output logic                          m_valid,
    input  logic                          m_ready,
    output logic [8*BYTES-1:0]            m_data,
    output logic                          m_last,
    output net_pkg::meta_t                m_meta,

    output logic [PORTS-1:0][31:0]        received  // frames
);
  logic [PORTS-1:0]              fifo_valid;
  logic [PORTS-1:0]              fifo_ready;
  logic [PORTS-1:0][8*BYTES-1:0] fifo_data;
  logic [PORTS-1:0]              fifo_last;
  logic [PORTS-1:0][15:0]        fifo_length;
  logic [15:0]                   length;
  logic [PORTS-1:0]              port;

  for (genvar i = 0; i < PORTS; i++) begin : ports
    logic [$clog2(DEPTH):0] unused_level;
    logic [31:0]            unused_dropped;

    frame_fifo #(
        .BYTES    (BYTES),
        .META_BITS(16),
        .DEPTH    (DEPTH)
    ) fifo (
        .clk,
        .rst,
        .s_valid (s_valid[i]),
        .s_ready (s_ready[i]),
        .s_data  (s_data[i]),
        .s_last  (s_last[i]),
        .s_meta  (s_length[i]),
        .m_valid (fifo_valid[i]),
        .m_ready (fifo_ready[i]),
        .m_data  (fifo_data[i]),
        .m_last  (fifo_last[i]),
        .m_meta  (fifo_length[i]),
        .level   (unused_level),
        .accepted(received[i]),
        .dropped (unused_dropped)
    );
  end

  frame_mux #(
      .PORTS    (PORTS),
      .BYTES    (BYTES),
      .META_BITS(16)
  ) mux (
      .clk,
      .rst,
      .s_valid(fifo_valid),
      .s_ready(fifo_ready),
      .s_data (fifo_data),
      .s_last (fifo_last),
      .s_meta (fifo_length),
      .m_valid,
      .m_ready,
      .m_data,
      .m_last,
      .m_meta (length),
      .m_port (port)
  );

  assign m_meta.length      = length;
  assign m_meta.source      = 8'(port);
  assign m_meta.destination = '0;
endmodule
