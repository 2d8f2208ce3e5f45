// Joins the writers of a function to the write channels of an AXI4 master, burst by burst, round
// robin. The words of a burst follow its address; a writer that was granted must send all of them.
// All writes have one id: they become visible in the order of their grants.
// Throughput: one word a cycle, with one cycle for each burst. Latency: one cycle.
module dma_write_mux #(
    parameter int BYTES = 64,
    parameter int WRITERS = 3,
    parameter int BURSTS = 64  // without a response; a power of two
) (
    input  logic                            clk,
    input  logic                            rst,

    input  logic [WRITERS-1:0]              s_valid,
    output logic [WRITERS-1:0]              s_ready,
    input  logic [WRITERS-1:0][63:0]        s_address,
    input  logic [WRITERS-1:0][7:0]         s_beats,  // words - 1
    input  logic [WRITERS-1:0][1:0]         s_kind,   // virtio_pkg::write_kind_t
    input  logic [WRITERS-1:0]              s_data_valid,
    output logic [WRITERS-1:0]              s_data_ready,
    input  logic [WRITERS-1:0][8*BYTES-1:0] s_data,
    input  logic [WRITERS-1:0][BYTES-1:0]   s_data_strobe,
    input  logic [WRITERS-1:0]              s_data_last,
    output logic [WRITERS-1:0]              response,  // one-hot
    output virtio_pkg::write_kind_t         response_kind,
    output logic                            response_error,

    output logic                            quiet,  // no write is under way

    output logic [7:0]                      m_axi_awid,
    output logic [63:0]                     m_axi_awaddr,
    output logic [7:0]                      m_axi_awlen,
    output logic [2:0]                      m_axi_awsize,
    output logic [1:0]                      m_axi_awburst,
    output logic                            m_axi_awvalid,
    input  logic                            m_axi_awready,
    output logic [8*BYTES-1:0]              m_axi_wdata,
    output logic [BYTES-1:0]                m_axi_wstrb,
    output logic                            m_axi_wlast,
    output logic                            m_axi_wvalid,
    input  logic                            m_axi_wready,
    input  logic [1:0]                      m_axi_bresp,
    input  logic                            m_axi_bvalid,
    output logic                            m_axi_bready
);
  localparam int OFFSET_BITS = $clog2(BYTES);
  localparam int BURST_BITS = $clog2(BURSTS);

  logic [WRITERS-1:0] grant;
  logic [WRITERS-1:0] owner;  // of the words of the present burst; 0: none
  logic               space;
  logic               accept;
  logic               data_space;
  logic               data_accept;

  // Writers and kinds of the bursts without a response, in order.
  logic [BURSTS-1:0][WRITERS+1:0] order;
  logic [WRITERS+1:0]             oldest;
  logic [1:0]                     kind;
  logic [BURST_BITS:0]            order_write;
  logic [BURST_BITS:0]            order_read;

  assign space  = (!m_axi_awvalid || m_axi_awready) && owner == '0
      && order_write - order_read != (BURST_BITS + 1)'(BURSTS);
  assign s_ready = space ? grant : '0;
  assign accept  = space && s_valid != '0;

  round_robin_arbiter #(
      .REQUESTS(WRITERS)
  ) arbiter (
      .clk,
      .rst,
      .request(s_valid),
      .grant,
      .accept (space)
  );

  assign data_space    = !m_axi_wvalid || m_axi_wready;
  assign s_data_ready  = data_space ? owner : '0;
  assign data_accept   = data_space && (owner & s_data_valid) != '0;
  assign m_axi_awid    = 8'd0;
  assign m_axi_awsize  = 3'(OFFSET_BITS);
  assign m_axi_awburst = 2'b01;
  assign m_axi_bready  = 1'b1;

  assign oldest         = order[order_read[BURST_BITS-1:0]];
  assign response       = m_axi_bvalid ? oldest[WRITERS+1:2] : '0;
  assign response_kind  = virtio_pkg::write_kind_t'(oldest[1:0]);
  assign response_error = m_axi_bresp != 2'b00;
  assign quiet          = order_write == order_read;

  always_comb begin
    kind = '0;
    for (int i = 0; i < WRITERS; i++) begin
      if (grant[i]) kind = kind | s_kind[i];
    end
  end

  always_ff @(posedge clk) begin
    if (space) begin
      for (int i = 0; i < WRITERS; i++) begin
        if (grant[i]) begin
          m_axi_awaddr <= {s_address[i][63:OFFSET_BITS], OFFSET_BITS'(0)};
          m_axi_awlen  <= s_beats[i];
        end
      end
    end
    if (accept) order[order_write[BURST_BITS-1:0]] <= {grant, kind};
    if (data_accept) begin
      for (int i = 0; i < WRITERS; i++) begin
        if (owner[i]) begin
          m_axi_wdata <= s_data[i];
          m_axi_wstrb <= s_data_strobe[i];
          m_axi_wlast <= s_data_last[i];
        end
      end
    end
    if (rst) begin
      m_axi_awvalid <= 1'b0;
      m_axi_wvalid  <= 1'b0;
      owner         <= '0;
      order_write   <= '0;
      order_read    <= '0;
    end else begin
      m_axi_awvalid <= accept || (m_axi_awvalid && !m_axi_awready);
      m_axi_wvalid  <= data_accept || (m_axi_wvalid && !m_axi_wready);
      if (accept) owner <= grant;
      else if (data_accept && (owner & s_data_last) != '0) owner <= '0;
      order_write <= order_write + (BURST_BITS + 1)'(accept);
      order_read  <= order_read + (BURST_BITS + 1)'(m_axi_bvalid);
    end
  end

  logic unused;
  assign unused = &{1'b0, s_address};
endmodule
