// The way into the PE network (paper, figure 3): gives each frame, whole, to an enabled element
// that is idle, round robin. Frames keep their order of arrival in `dispatch`.
// Throughput: one word a cycle; the path is combinational.
module pe_dispatcher #(
    parameter int PES = 5
) (
    input  logic           clk,
    input  logic           rst,
    input  logic [PES-1:0] enabled,   // may change at any time; frames in work are finished

    input  logic           s_valid,
    output logic           s_ready,
    input  logic           s_last,

    output logic [PES-1:0] m_valid,
    input  logic [PES-1:0] m_ready,   // between frames: the element is idle

    output logic [PES-1:0] dispatch,  // high with the first word of a frame
    output logic           starved    // a frame waits, all elements are busy
);
  logic [PES-1:0] grant;
  logic [PES-1:0] chosen;   // takes the rest of the frame
  logic [PES-1:0] target;
  logic           in_frame;   // a frame is on its way
  logic           first;

  assign target   = in_frame ? chosen : grant;
  assign m_valid  = s_valid ? target : '0;
  assign s_ready  = |(target & m_ready);
  assign first    = s_valid && s_ready && !in_frame;
  assign dispatch = first ? grant : '0;
  assign starved  = s_valid && !in_frame && grant == '0;

  round_robin_arbiter #(
      .REQUESTS(PES)
  ) choice (
      .clk,
      .rst,
      .request(enabled & m_ready),
      .grant,
      .accept (first)
  );

  always_ff @(posedge clk) begin
    if (first) chosen <= grant;
    if (s_valid && s_ready) in_frame <= !s_last;
    if (rst) in_frame <= 1'b0;
  end
endmodule
