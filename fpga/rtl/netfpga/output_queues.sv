// Output Queues (paper, figure 2): a frame FIFO for each port. A frame goes to every port of its
// destination mask; a port without space for the whole frame loses it, and the others do not.
// A frame that is drop eligible (from LaKe) is only taken while at least RESERVED words are free,
// so that normal frames find space whatever the load of memcached.
// Throughput: one word a cycle; the input never stalls. Latency: two cycles after the last word.
module output_queues #(
    parameter int PORTS = 5,       // at most 8
    parameter int BYTES = 32,
    parameter int DEPTH = 512,     // words of a queue; a power of two
    parameter int RESERVED = 128
) (
    input  logic                                     clk,
    input  logic                                     rst,

    input  logic                                     s_valid,
    output logic                                     s_ready,
    input  logic [8*BYTES-1:0]                       s_data,
    input  logic                                     s_last,
    input  net_pkg::meta_t                           s_meta,
    input  logic                                     s_drop_eligible,

    output logic [PORTS-1:0]                         m_valid,
    input  logic [PORTS-1:0]                         m_ready,
    output logic [PORTS-1:0][8*BYTES-1:0]            m_data,
    output logic [PORTS-1:0]                         m_last,
    output logic [PORTS-1:0][net_pkg::META_BITS-1:0] m_meta,

    output logic [PORTS-1:0][31:0]                   accepted,  // frames
    output logic [PORTS-1:0][31:0]                   dropped
);
  localparam int LEVEL_BITS = $clog2(DEPTH) + 1;

  logic             first;     // the next word begins a frame
  logic [PORTS-1:0] held;      // the ports that take the current frame
  logic [PORTS-1:0] selected;

  assign s_ready = 1'b1;

  always_ff @(posedge clk) begin
    if (rst) first <= 1'b1;
    else if (s_valid) first <= s_last;
    if (s_valid) held <= selected;
  end

  for (genvar i = 0; i < PORTS; i++) begin : ports
    logic [LEVEL_BITS-1:0] level;
    logic                  refuse;   // a drop eligible frame: the rest is for normal ones
    logic [31:0]           refused;
    logic [31:0]           overflowed;

    assign refuse      = s_drop_eligible && level > LEVEL_BITS'(DEPTH - RESERVED);
    assign selected[i] = first ? s_meta.destination[i] && !refuse : held[i];
    assign dropped[i]  = refused + overflowed;

    always_ff @(posedge clk) begin
      if (rst) refused <= '0;
      else if (s_valid && first && s_meta.destination[i] && refuse) refused <= refused + 32'd1;
    end

    logic unused_ready;
    frame_fifo #(
        .BYTES(BYTES),
        .DEPTH(DEPTH),
        .DROP (1'b1)
    ) queue (
        .clk,
        .rst,
        .s_valid (s_valid && selected[i]),
        .s_ready (unused_ready),
        .s_data,
        .s_last,
        .s_meta,
        .m_valid (m_valid[i]),
        .m_ready (m_ready[i]),
        .m_data  (m_data[i]),
        .m_last  (m_last[i]),
        .m_meta  (m_meta[i]),
        .level,
        .accepted(accepted[i]),
        .dropped (overflowed)
    );
  end
endmodule
