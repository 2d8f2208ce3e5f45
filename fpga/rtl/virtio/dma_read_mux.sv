// Joins the readers of a function to the read channels of an AXI4 master, burst by burst, round
// robin. The id of a burst is the number of its reader. Responses never wait: a reader requests only
// what it has space for.
// Throughput: one request and one word a cycle. Latency: one cycle for requests, none for responses.
module dma_read_mux #(
    parameter int BYTES = 64,
    parameter int READERS = 7  // 1 to 16
) (
    input  logic                     clk,
    input  logic                     rst,

    input  logic [READERS-1:0]       s_valid,
    output logic [READERS-1:0]       s_ready,
    input  logic [READERS-1:0][63:0] s_address,  // the burst begins with the word of this byte
    input  logic [READERS-1:0][7:0]  s_beats,    // words - 1
    output logic [READERS-1:0]       response,   // one-hot
    output logic                     response_error,

    output logic                     quiet,  // no read is under way

    output logic [7:0]               m_axi_arid,
    output logic [63:0]              m_axi_araddr,
    output logic [7:0]               m_axi_arlen,
    output logic [2:0]               m_axi_arsize,
    output logic [1:0]               m_axi_arburst,
    output logic                     m_axi_arvalid,
    input  logic                     m_axi_arready,
    input  logic [7:0]               m_axi_rid,
    input  logic [1:0]               m_axi_rresp,
    input  logic                     m_axi_rlast,
    input  logic                     m_axi_rvalid,
    output logic                     m_axi_rready
);
  localparam int OFFSET_BITS = $clog2(BYTES);

  logic [READERS-1:0] grant;
  logic               space;
  logic               accept;
  logic [15:0]        under_way;  // bursts

  assign space   = !m_axi_arvalid || m_axi_arready;
  assign s_ready = space ? grant : '0;
  assign accept  = space && s_valid != '0;

  round_robin_arbiter #(
      .REQUESTS(READERS)
  ) arbiter (
      .clk,
      .rst,
      .request(s_valid),
      .grant,
      .accept (space)
  );

  assign m_axi_arsize   = 3'(OFFSET_BITS);
  assign m_axi_arburst  = 2'b01;
  assign m_axi_rready   = 1'b1;
  assign response_error = m_axi_rresp != 2'b00;
  assign quiet          = under_way == '0;

  always_comb begin
    for (int i = 0; i < READERS; i++) begin
      response[i] = m_axi_rvalid && m_axi_rid == 8'(i);
    end
  end

  always_ff @(posedge clk) begin
    if (space) begin
      for (int i = 0; i < READERS; i++) begin
        if (grant[i]) begin
          m_axi_arid   <= 8'(i);
          m_axi_araddr <= {s_address[i][63:OFFSET_BITS], OFFSET_BITS'(0)};
          m_axi_arlen  <= s_beats[i];
        end
      end
    end
    if (rst) begin
      m_axi_arvalid <= 1'b0;
      under_way     <= '0;
    end else begin
      m_axi_arvalid <= accept || (m_axi_arvalid && !m_axi_arready);
      under_way     <= under_way + 16'(accept) - 16'(m_axi_rvalid && m_axi_rlast);
    end
  end

  // Bytes of an address below the word.
  logic unused;
  assign unused = &{1'b0, s_address};
endmodule
