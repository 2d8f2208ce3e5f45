// The way of frames to a function: from the network and from the controllers into a queue, which
// drops what finds no room, as the receive ring of a NIC does.
//
// `room` is low while the longest reply of a controller might find no room. `stuck` is high when
// that has lasted and the function has taken nothing for 2^STUCK_LOG2 cycles: then nothing is
// gained by waiting for it.
module receive_path #(
    parameter int PORTS = 2,       // the network, then the controllers
    parameter int DEPTH = 512,     // words of the queue; more than the longest frame
    parameter int STUCK_LOG2 = 12
) (
    input  logic                      clk,
    input  logic                      rst,

    output logic                      busy,
    output logic                      room,
    output logic                      stuck,
    output logic                      received,  // pulses: a frame went to the function,
    output logic [15:0]               received_length,
    output logic                      dropped,   // a frame was dropped

    input  logic [PORTS-1:0]          s_valid,
    output logic [PORTS-1:0]          s_ready,
    input  logic [PORTS-1:0][511:0]   s_data,
    input  logic [PORTS-1:0]          s_last,
    input  logic [PORTS-1:0][net_pkg::META_BITS-1:0] s_meta,

    output logic                      m_valid,
    input  logic                      m_ready,
    output logic [511:0]              m_data,
    output logic                      m_last,
    output net_pkg::meta_t            m_meta
);
  localparam int LEVEL_BITS = $clog2(DEPTH) + 1;
  localparam int RESERVE = 2 * client_cache_pkg::FRAME_WORDS;

  logic                  valid;
  logic                  ready;
  logic [511:0]          data;
  logic                  last;
  net_pkg::meta_t        meta;
  logic [PORTS-1:0]      from;
  logic [LEVEL_BITS-1:0] level;
  logic [31:0]           accepted;
  logic [31:0]           lost;
  logic [31:0]           counted;
  logic [STUCK_LOG2:0]   waited;

  frame_mux #(
      .PORTS(PORTS),
      .BYTES(64)
  ) merge (
      .clk,
      .rst,
      .s_valid,
      .s_ready,
      .s_data,
      .s_last,
      .s_meta,
      .m_valid(valid),
      .m_ready(ready),
      .m_data (data),
      .m_last (last),
      .m_meta (meta),
      .m_port (from)
  );

  frame_fifo #(
      .BYTES(64),
      .DEPTH(DEPTH),
      .DROP(1'b1)
  ) queue_of_function (
      .clk,
      .rst,
      .s_valid (valid),
      .s_ready (ready),
      .s_data  (data),
      .s_last  (last),
      .s_meta  (meta),
      .m_valid,
      .m_ready,
      .m_data,
      .m_last,
      .m_meta,
      .level,
      .accepted,
      .dropped (lost)
  );

  assign room  = level <= LEVEL_BITS'(DEPTH - RESERVE);
  assign stuck = waited[STUCK_LOG2];
  assign busy  = valid || m_valid || level != '0;

  always_ff @(posedge clk) begin
    received        <= m_valid && m_ready && m_last && !rst;
    received_length <= m_meta.length;
    counted         <= rst ? '0 : lost;
    dropped         <= lost != counted && !rst;
    if (rst || room || (m_valid && m_ready)) waited <= '0;
    else if (!stuck) waited <= waited + 1'b1;
  end

  logic unused;
  assign unused = &{1'b0, from, accepted};
endmodule
