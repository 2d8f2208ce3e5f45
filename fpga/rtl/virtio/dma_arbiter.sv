// Joins the AXI4 masters of several functions to one. Grants a burst at a time, round robin, and sets
// the user signals and the upper half of the ids to the number of the function.
// Data of writes follow in the order of their addresses. Responses are routed by their ids.
// Throughput: one burst and one word a cycle in each direction. Latency: one cycle for requests and
// data of writes, none for responses.
module dma_arbiter #(
    parameter int FUNCTIONS = 2,  // 1 to 16
    parameter int BYTES = 64,     // of a word
    parameter int BURSTS = 16     // writes whose data are under way; a power of two
) (
    input  logic                              clk,
    input  logic                              rst,

    // functions
    input  logic [FUNCTIONS-1:0][7:0]         s_axi_awid,  // the lower half counts
    input  logic [FUNCTIONS-1:0][63:0]        s_axi_awaddr,
    input  logic [FUNCTIONS-1:0][7:0]         s_axi_awlen,
    input  logic [FUNCTIONS-1:0][2:0]         s_axi_awsize,
    input  logic [FUNCTIONS-1:0][1:0]         s_axi_awburst,
    input  logic [FUNCTIONS-1:0]              s_axi_awvalid,
    output logic [FUNCTIONS-1:0]              s_axi_awready,
    input  logic [FUNCTIONS-1:0][8*BYTES-1:0] s_axi_wdata,
    input  logic [FUNCTIONS-1:0][BYTES-1:0]   s_axi_wstrb,
    input  logic [FUNCTIONS-1:0]              s_axi_wlast,
    input  logic [FUNCTIONS-1:0]              s_axi_wvalid,
    output logic [FUNCTIONS-1:0]              s_axi_wready,
    output logic [FUNCTIONS-1:0][7:0]         s_axi_bid,
    output logic [FUNCTIONS-1:0][1:0]         s_axi_bresp,
    output logic [FUNCTIONS-1:0]              s_axi_bvalid,
    input  logic [FUNCTIONS-1:0]              s_axi_bready,
    input  logic [FUNCTIONS-1:0][7:0]         s_axi_arid,
    input  logic [FUNCTIONS-1:0][63:0]        s_axi_araddr,
    input  logic [FUNCTIONS-1:0][7:0]         s_axi_arlen,
    input  logic [FUNCTIONS-1:0][2:0]         s_axi_arsize,
    input  logic [FUNCTIONS-1:0][1:0]         s_axi_arburst,
    input  logic [FUNCTIONS-1:0]              s_axi_arvalid,
    output logic [FUNCTIONS-1:0]              s_axi_arready,
    output logic [FUNCTIONS-1:0][7:0]         s_axi_rid,
    output logic [8*BYTES-1:0]                s_axi_rdata,  // for all functions
    output logic [1:0]                        s_axi_rresp,  // for all functions
    output logic                              s_axi_rlast,  // for all functions
    output logic [FUNCTIONS-1:0]              s_axi_rvalid,
    input  logic [FUNCTIONS-1:0]              s_axi_rready,

    // host memory
    output logic [7:0]                        m_axi_awid,
    output logic [63:0]                       m_axi_awaddr,
    output logic [7:0]                        m_axi_awlen,
    output logic [2:0]                        m_axi_awsize,
    output logic [1:0]                        m_axi_awburst,
    output logic [3:0]                        m_axi_awuser,
    output logic                              m_axi_awvalid,
    input  logic                              m_axi_awready,
    output logic [8*BYTES-1:0]                m_axi_wdata,
    output logic [BYTES-1:0]                  m_axi_wstrb,
    output logic                              m_axi_wlast,
    output logic                              m_axi_wvalid,
    input  logic                              m_axi_wready,
    input  logic [7:0]                        m_axi_bid,
    input  logic [1:0]                        m_axi_bresp,
    input  logic                              m_axi_bvalid,
    output logic                              m_axi_bready,
    output logic [7:0]                        m_axi_arid,
    output logic [63:0]                       m_axi_araddr,
    output logic [7:0]                        m_axi_arlen,
    output logic [2:0]                        m_axi_arsize,
    output logic [1:0]                        m_axi_arburst,
    output logic [3:0]                        m_axi_aruser,
    output logic                              m_axi_arvalid,
    input  logic                              m_axi_arready,
    input  logic [7:0]                        m_axi_rid,
    input  logic [8*BYTES-1:0]                m_axi_rdata,
    input  logic [1:0]                        m_axi_rresp,
    input  logic                              m_axi_rlast,
    input  logic                              m_axi_rvalid,
    output logic                              m_axi_rready
);
  localparam int BURST_BITS = $clog2(BURSTS);

  // Reads.
  logic [FUNCTIONS-1:0] read_grant;
  logic                 read_space;

  assign read_space    = !m_axi_arvalid || m_axi_arready;
  assign s_axi_arready = read_space ? read_grant : '0;

  round_robin_arbiter #(
      .REQUESTS(FUNCTIONS)
  ) read_arbiter (
      .clk,
      .rst,
      .request(s_axi_arvalid),
      .grant  (read_grant),
      .accept (read_space)
  );

  always_ff @(posedge clk) begin
    if (read_space) begin
      for (int i = 0; i < FUNCTIONS; i++) begin
        if (read_grant[i]) begin
          m_axi_arid    <= {4'(i), s_axi_arid[i][3:0]};
          m_axi_araddr  <= s_axi_araddr[i];
          m_axi_arlen   <= s_axi_arlen[i];
          m_axi_arsize  <= s_axi_arsize[i];
          m_axi_arburst <= s_axi_arburst[i];
          m_axi_aruser  <= 4'(i);
        end
      end
    end
    if (rst) m_axi_arvalid <= 1'b0;
    else if (read_space) m_axi_arvalid <= s_axi_arvalid != '0;
  end

  // Writes. The functions of the bursts whose data are still to come, in order.
  logic [FUNCTIONS-1:0]             write_grant;
  logic                             write_space;
  logic                             write_accept;
  logic [BURSTS-1:0][FUNCTIONS-1:0] order;
  logic [BURST_BITS:0]              order_write;
  logic [BURST_BITS:0]              order_read;
  logic                             order_full;
  logic [FUNCTIONS-1:0]             data_owner;
  logic                             data_space;
  logic                             data_accept;

  assign order_full    = order_write - order_read == (BURST_BITS + 1)'(BURSTS);
  assign write_space   = (!m_axi_awvalid || m_axi_awready) && !order_full;
  assign write_accept  = write_space && s_axi_awvalid != '0;
  assign s_axi_awready = write_space ? write_grant : '0;
  assign data_owner    = order_write != order_read ? order[order_read[BURST_BITS-1:0]] : '0;
  assign data_space    = !m_axi_wvalid || m_axi_wready;
  assign data_accept   = data_space && (data_owner & s_axi_wvalid) != '0;
  assign s_axi_wready  = data_space ? data_owner : '0;

  round_robin_arbiter #(
      .REQUESTS(FUNCTIONS)
  ) write_arbiter (
      .clk,
      .rst,
      .request(s_axi_awvalid),
      .grant  (write_grant),
      .accept (write_space)
  );

  always_ff @(posedge clk) begin
    if (write_space) begin
      for (int i = 0; i < FUNCTIONS; i++) begin
        if (write_grant[i]) begin
          m_axi_awid    <= {4'(i), s_axi_awid[i][3:0]};
          m_axi_awaddr  <= s_axi_awaddr[i];
          m_axi_awlen   <= s_axi_awlen[i];
          m_axi_awsize  <= s_axi_awsize[i];
          m_axi_awburst <= s_axi_awburst[i];
          m_axi_awuser  <= 4'(i);
        end
      end
    end
    if (write_accept) order[order_write[BURST_BITS-1:0]] <= write_grant;
    if (data_accept) begin
      for (int i = 0; i < FUNCTIONS; i++) begin
        if (data_owner[i]) begin
          m_axi_wdata <= s_axi_wdata[i];
          m_axi_wstrb <= s_axi_wstrb[i];
          m_axi_wlast <= s_axi_wlast[i];
        end
      end
    end
    if (rst) begin
      m_axi_awvalid <= 1'b0;
      m_axi_wvalid  <= 1'b0;
      order_write   <= '0;
      order_read    <= '0;
    end else begin
      m_axi_awvalid <= write_accept || (m_axi_awvalid && !m_axi_awready);
      m_axi_wvalid  <= data_accept || (m_axi_wvalid && !m_axi_wready);
      order_write   <= order_write + (BURST_BITS + 1)'(write_accept);
      order_read    <= order_read
          + (BURST_BITS + 1)'(data_accept && (data_owner & s_axi_wlast) != '0);
    end
  end

  // Responses.
  assign s_axi_rdata = m_axi_rdata;
  assign s_axi_rresp = m_axi_rresp;
  assign s_axi_rlast = m_axi_rlast;

  always_comb begin
    m_axi_rready = 1'b0;
    m_axi_bready = 1'b0;
    for (int i = 0; i < FUNCTIONS; i++) begin
      s_axi_rvalid[i] = m_axi_rvalid && m_axi_rid[7:4] == 4'(i);
      s_axi_bvalid[i] = m_axi_bvalid && m_axi_bid[7:4] == 4'(i);
      s_axi_rid[i]    = {4'd0, m_axi_rid[3:0]};
      s_axi_bid[i]    = {4'd0, m_axi_bid[3:0]};
      s_axi_bresp[i]  = m_axi_bresp;
      if (m_axi_rid[7:4] == 4'(i)) m_axi_rready = s_axi_rready[i];
      if (m_axi_bid[7:4] == 4'(i)) m_axi_bready = s_axi_bready[i];
    end
  end

  logic unused;
  assign unused = &{1'b0, s_axi_awid, s_axi_arid};
endmodule
