// Merges the normal path and the output of LaKe (paper, figure 2, the second arbiter). Normal
// frames have strict priority; a frame that has begun is not interrupted.
// Throughput: one word a cycle. Latency: one cycle.
module output_arbiter #(
    parameter int BYTES = 32
) (
    input  logic               clk,
    input  logic               rst,

    input  logic               normal_valid,
    output logic               normal_ready,
    input  logic [8*BYTES-1:0] normal_data,
    input  logic               normal_last,
    input  net_pkg::meta_t     normal_meta,

    input  logic               lake_valid,
    output logic               lake_ready,
    input  logic [8*BYTES-1:0] lake_data,
    input  logic               lake_last,
    input  net_pkg::meta_t     lake_meta,

    output logic               m_valid,
    input  logic               m_ready,
    output logic [8*BYTES-1:0] m_data,
    output logic               m_last,
    output net_pkg::meta_t     m_meta,
    output logic               m_drop_eligible  // from LaKe: dropped first when queues fill
);
  logic [1:0] port;

  frame_mux #(
      .PORTS (2),
      .BYTES (BYTES),
      .STRICT(1'b1)
  ) mux (
      .clk,
      .rst,
      .s_valid({lake_valid, normal_valid}),
      .s_ready({lake_ready, normal_ready}),
      .s_data ({lake_data, normal_data}),
      .s_last ({lake_last, normal_last}),
      .s_meta ({lake_meta, normal_meta}),
      .m_valid,
      .m_ready,
      .m_data,
      .m_last,
      .m_meta,
      .m_port (port)
  );

  assign m_drop_eligible = port[1];

  logic unused;
  assign unused = &{1'b0, port[0]};
endmodule
