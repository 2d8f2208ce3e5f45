// The transparent client-side cache (paper, figure 2): virtio network functions in front of a host's
// memory, a cache of memcached's items, and a network port. With CONTROLLERS = 0 it is a plain NIC.
// Registers: client_cache_registers.
module client_cache_top #(
    parameter int NETWORK_PORTS = 1,  // the first one is used
    parameter int BYTES = 64,         // of a word; 64
    parameter int FUNCTIONS = 1,      // 1 to 8
    parameter int CONTROLLERS = 1,    // 0 to FUNCTIONS
    parameter int INDEX_BITS = 16,    // of the table of a controller
    parameter int KEY_BYTES = 64,
    parameter int VALUE_BYTES = 512,
    parameter int MISS_ENTRIES = 256, // of a controller
    parameter int QUEUE_SIZE = 256,
    parameter int PRESCALE = 10       // a unit of time has 2^PRESCALE cycles
) (
    input  logic                                  clk,
    input  logic                                  rst,
    input  logic [31:0]                           seed,

    input  logic [NETWORK_PORTS-1:0]              rx_valid,
    output logic [NETWORK_PORTS-1:0]              rx_ready,
    input  logic [NETWORK_PORTS-1:0][8*BYTES-1:0] rx_data,
    input  logic [NETWORK_PORTS-1:0]              rx_last,
    input  logic [NETWORK_PORTS-1:0][15:0]        rx_meta_length,

    output logic [NETWORK_PORTS-1:0]              tx_valid,
    input  logic [NETWORK_PORTS-1:0]              tx_ready,
    output logic [NETWORK_PORTS-1:0][8*BYTES-1:0] tx_data,
    output logic [NETWORK_PORTS-1:0]              tx_last,
    output logic [NETWORK_PORTS-1:0][15:0]        tx_meta_length,

    input  logic [15:0]                           reg_address,
    input  logic                                  reg_write,
    input  logic [31:0]                           reg_wdata,
    input  logic                                  reg_read,
    output logic [31:0]                           reg_rdata,

    // For simulations (docs/use/fpga.md, "Idle time"); on a board `skip` is 0.
    input  logic [31:0]                           skip = '0,
    output logic [31:0]                           idle_cycles,

    input  logic [3:0]                            bar_function,
    input  logic [15:0]                           bar_address,
    input  logic                                  bar_write,
    input  logic [3:0]                            bar_strobe,
    input  logic [31:0]                           bar_wdata,
    input  logic                                  bar_read,
    output logic [31:0]                           bar_rdata,

    output logic [3*FUNCTIONS-1:0]                irq,
    output logic [3*FUNCTIONS-1:0][15:0]          irq_vector,
    output logic [FUNCTIONS-1:0]                  irq_pin,

    output logic [7:0]                            m_axi_awid,
    output logic [63:0]                           m_axi_awaddr,
    output logic [7:0]                            m_axi_awlen,
    output logic [2:0]                            m_axi_awsize,
    output logic [1:0]                            m_axi_awburst,
    output logic [3:0]                            m_axi_awuser,
    output logic                                  m_axi_awvalid,
    input  logic                                  m_axi_awready,
    output logic [8*BYTES-1:0]                    m_axi_wdata,
    output logic [BYTES-1:0]                      m_axi_wstrb,
    output logic                                  m_axi_wlast,
    output logic                                  m_axi_wvalid,
    input  logic                                  m_axi_wready,
    input  logic [7:0]                            m_axi_bid,
    input  logic [1:0]                            m_axi_bresp,
    input  logic                                  m_axi_bvalid,
    output logic                                  m_axi_bready,
    output logic [7:0]                            m_axi_arid,
    output logic [63:0]                           m_axi_araddr,
    output logic [7:0]                            m_axi_arlen,
    output logic [2:0]                            m_axi_arsize,
    output logic [1:0]                            m_axi_arburst,
    output logic [3:0]                            m_axi_aruser,
    output logic                                  m_axi_arvalid,
    input  logic                                  m_axi_arready,
    input  logic [7:0]                            m_axi_rid,
    input  logic [8*BYTES-1:0]                    m_axi_rdata,
    input  logic [1:0]                            m_axi_rresp,
    input  logic                                  m_axi_rlast,
    input  logic                                  m_axi_rvalid,
    output logic                                  m_axi_rready
);
  // ---- functions -------------------------------------------------------------------------------
  logic [FUNCTIONS-1:0][47:0]        mac;
  logic [FUNCTIONS-1:0]              link_up;
  logic [FUNCTIONS-1:0][31:0]        function_rdata;
  logic [3:0]                        read_function;  // of the last read
  logic [FUNCTIONS-1:0]              functions_idle;
  logic [FUNCTIONS-1:0][client_cache_pkg::FUNCTION_STATUSES-1:0][31:0] function_status;

  logic [FUNCTIONS-1:0]              sent_valid;     // from the functions
  logic [FUNCTIONS-1:0]              sent_ready;
  logic [FUNCTIONS-1:0][8*BYTES-1:0] sent_data;
  logic [FUNCTIONS-1:0]              sent_last;
  logic [FUNCTIONS-1:0][net_pkg::META_BITS-1:0] sent_meta;
  logic [FUNCTIONS-1:0]              received_valid; // to the functions
  logic [FUNCTIONS-1:0]              received_ready;
  logic [FUNCTIONS-1:0][8*BYTES-1:0] received_data;
  logic [FUNCTIONS-1:0]              received_last;
  logic [FUNCTIONS-1:0][net_pkg::META_BITS-1:0] received_meta;

  logic [FUNCTIONS-1:0][7:0]         awid;
  logic [FUNCTIONS-1:0][63:0]        awaddr;
  logic [FUNCTIONS-1:0][7:0]         awlen;
  logic [FUNCTIONS-1:0][2:0]         awsize;
  logic [FUNCTIONS-1:0][1:0]         awburst;
  logic [FUNCTIONS-1:0]              awvalid;
  logic [FUNCTIONS-1:0]              awready;
  logic [FUNCTIONS-1:0][8*BYTES-1:0] wdata;
  logic [FUNCTIONS-1:0][BYTES-1:0]   wstrb;
  logic [FUNCTIONS-1:0]              wlast;
  logic [FUNCTIONS-1:0]              wvalid;
  logic [FUNCTIONS-1:0]              wready;
  logic [FUNCTIONS-1:0][7:0]         bid;
  logic [FUNCTIONS-1:0][1:0]         bresp;
  logic [FUNCTIONS-1:0]              bvalid;
  logic [FUNCTIONS-1:0]              bready;
  logic [FUNCTIONS-1:0][7:0]         arid;
  logic [FUNCTIONS-1:0][63:0]        araddr;
  logic [FUNCTIONS-1:0][7:0]         arlen;
  logic [FUNCTIONS-1:0][2:0]         arsize;
  logic [FUNCTIONS-1:0][1:0]         arburst;
  logic [FUNCTIONS-1:0]              arvalid;
  logic [FUNCTIONS-1:0]              arready;
  logic [FUNCTIONS-1:0][7:0]         rid;
  logic [8*BYTES-1:0]                rdata;
  logic [1:0]                        rresp;
  logic                              rlast;
  logic [FUNCTIONS-1:0]              rvalid;
  logic [FUNCTIONS-1:0]              rready;

  for (genvar i = 0; i < FUNCTIONS; i++) begin : functions
    virtio_pkg::function_counters_t counters;
    net_pkg::meta_t                 meta;
    logic                           unused_of_function;

    virtio_function #(
        .BYTES     (BYTES),
        .QUEUE_SIZE(QUEUE_SIZE),
        .FUNCTION  (i)
    ) virtio (
        .clk,
        .rst,
        .bar_select      (bar_function == 4'(i)),
        .bar_address,
        .bar_write,
        .bar_strobe,
        .bar_wdata,
        .bar_read,
        .bar_rdata       (function_rdata[i]),
        .mac             (mac[i]),
        .link_up         (link_up[i]),
        .irq             (irq[3*i+:3]),
        .irq_vector      (irq_vector[3*i+:3]),
        .irq_pin         (irq_pin[i]),
        .idle            (functions_idle[i]),
        .m_valid         (sent_valid[i]),
        .m_ready         (sent_ready[i]),
        .m_data          (sent_data[i]),
        .m_last          (sent_last[i]),
        .m_meta          (meta),
        .s_valid         (received_valid[i]),
        .s_ready         (received_ready[i]),
        .s_data          (received_data[i]),
        .s_last          (received_last[i]),
        .s_meta          (received_meta[i]),
        .m_axi_awid      (awid[i]),
        .m_axi_awaddr    (awaddr[i]),
        .m_axi_awlen     (awlen[i]),
        .m_axi_awsize    (awsize[i]),
        .m_axi_awburst   (awburst[i]),
        .m_axi_awvalid   (awvalid[i]),
        .m_axi_awready   (awready[i]),
        .m_axi_wdata     (wdata[i]),
        .m_axi_wstrb     (wstrb[i]),
        .m_axi_wlast     (wlast[i]),
        .m_axi_wvalid    (wvalid[i]),
        .m_axi_wready    (wready[i]),
        .m_axi_bid       (bid[i]),
        .m_axi_bresp     (bresp[i]),
        .m_axi_bvalid    (bvalid[i]),
        .m_axi_bready    (bready[i]),
        .m_axi_arid      (arid[i]),
        .m_axi_araddr    (araddr[i]),
        .m_axi_arlen     (arlen[i]),
        .m_axi_arsize    (arsize[i]),
        .m_axi_arburst   (arburst[i]),
        .m_axi_arvalid   (arvalid[i]),
        .m_axi_arready   (arready[i]),
        .m_axi_rid       (rid[i]),
        .m_axi_rdata     (rdata),
        .m_axi_rresp     (rresp),
        .m_axi_rlast     (rlast),
        .m_axi_rvalid    (rvalid[i]),
        .m_axi_rready    (rready[i]),
        .counters
    );
    assign sent_meta[i]       = meta;
    assign function_status[i] = {
      counters.rx_bytes[31:0], counters.tx_bytes[31:0], counters.rx_frames, counters.tx_frames,
      counters.rx_bad_chains, counters.rx_dropped, counters.tx_bad_chains, counters.tx_dropped
    };
    assign unused_of_function = &{1'b0, counters};
  end

  always_ff @(posedge clk) begin
    if (bar_read) read_function <= bar_function;
  end

  always_comb begin
    bar_rdata = '0;
    for (int i = 0; i < FUNCTIONS; i++) begin
      if (read_function == 4'(i)) bar_rdata = function_rdata[i];
    end
  end

  // ---- host memory -----------------------------------------------------------------------------
  dma_arbiter #(
      .FUNCTIONS(FUNCTIONS),
      .BYTES    (BYTES)
  ) dma (
      .clk,
      .rst,
      .s_axi_awid   (awid),
      .s_axi_awaddr (awaddr),
      .s_axi_awlen  (awlen),
      .s_axi_awsize (awsize),
      .s_axi_awburst(awburst),
      .s_axi_awvalid(awvalid),
      .s_axi_awready(awready),
      .s_axi_wdata  (wdata),
      .s_axi_wstrb  (wstrb),
      .s_axi_wlast  (wlast),
      .s_axi_wvalid (wvalid),
      .s_axi_wready (wready),
      .s_axi_bid    (bid),
      .s_axi_bresp  (bresp),
      .s_axi_bvalid (bvalid),
      .s_axi_bready (bready),
      .s_axi_arid   (arid),
      .s_axi_araddr (araddr),
      .s_axi_arlen  (arlen),
      .s_axi_arsize (arsize),
      .s_axi_arburst(arburst),
      .s_axi_arvalid(arvalid),
      .s_axi_arready(arready),
      .s_axi_rid    (rid),
      .s_axi_rdata  (rdata),
      .s_axi_rresp  (rresp),
      .s_axi_rlast  (rlast),
      .s_axi_rvalid (rvalid),
      .s_axi_rready (rready),
      .m_axi_awid,
      .m_axi_awaddr,
      .m_axi_awlen,
      .m_axi_awsize,
      .m_axi_awburst,
      .m_axi_awuser,
      .m_axi_awvalid,
      .m_axi_awready,
      .m_axi_wdata,
      .m_axi_wstrb,
      .m_axi_wlast,
      .m_axi_wvalid,
      .m_axi_wready,
      .m_axi_bid,
      .m_axi_bresp,
      .m_axi_bvalid,
      .m_axi_bready,
      .m_axi_arid,
      .m_axi_araddr,
      .m_axi_arlen,
      .m_axi_arsize,
      .m_axi_arburst,
      .m_axi_aruser,
      .m_axi_arvalid,
      .m_axi_arready,
      .m_axi_rid,
      .m_axi_rdata,
      .m_axi_rresp,
      .m_axi_rlast,
      .m_axi_rvalid,
      .m_axi_rready
  );

  // Transfers that the memory has taken and not answered. A function with a frame is never without
  // one for longer than `busy` of the core lasts.
  logic [15:0] transfers;
  logic        host_busy;

  assign host_busy = transfers != '0 || m_axi_awvalid || m_axi_arvalid || bar_write;

  always_ff @(posedge clk) begin
    if (rst) transfers <= '0;
    else begin
      transfers <= transfers + 16'(m_axi_awvalid && m_axi_awready)
          + 16'(m_axi_arvalid && m_axi_arready) - 16'(m_axi_bvalid && m_axi_bready)
          - 16'(m_axi_rvalid && m_axi_rready && m_axi_rlast);
    end
  end

  // ---- idle time -------------------------------------------------------------------------------
  // Nothing changes any more when nothing has moved for longer than any chain of steps takes that
  // shows none of these signals: the four descriptors of a word, a reset of a function.
  localparam int STILL_BITS = 3;
  logic                still;
  logic                core_idle;
  logic [PRESCALE-1:0] unit_left;
  logic [STILL_BITS:0] still_for;  // cycles

  assign still       = core_idle && functions_idle == '1 && !m_axi_awvalid && !m_axi_wvalid
      && !m_axi_arvalid && !m_axi_bvalid && !m_axi_rvalid && !bar_write && !bar_read;
  assign idle_cycles = still && still_for[STILL_BITS] ? 32'(unit_left) : 32'd0;

  always_ff @(posedge clk) begin
    if (rst || !still) still_for <= '0;
    else if (!still_for[STILL_BITS]) still_for <= still_for + 1'b1;
  end

  // ---- cache -----------------------------------------------------------------------------------
  client_cache_core #(
      .FUNCTIONS   (FUNCTIONS),
      .CONTROLLERS (CONTROLLERS),
      .INDEX_BITS  (INDEX_BITS),
      .KEY_BYTES   (KEY_BYTES),
      .VALUE_BYTES (VALUE_BYTES),
      .MISS_ENTRIES(MISS_ENTRIES),
      .PRESCALE    (PRESCALE)
  ) core (
      .clk,
      .rst,
      .skip,
      .idle          (core_idle),
      .unit_left,
      .reg_address,
      .reg_write,
      .reg_wdata,
      .reg_read,
      .reg_rdata,
      .mac,
      .link_up,
      .host_busy,
      .function_status,
      .s_valid       (sent_valid),
      .s_ready       (sent_ready),
      .s_data        (sent_data),
      .s_last        (sent_last),
      .s_meta        (sent_meta),
      .m_valid       (received_valid),
      .m_ready       (received_ready),
      .m_data        (received_data),
      .m_last        (received_last),
      .m_meta        (received_meta),
      .rx_valid      (rx_valid[0]),
      .rx_ready      (rx_ready[0]),
      .rx_data       (rx_data[0]),
      .rx_last       (rx_last[0]),
      .rx_meta_length(rx_meta_length[0]),
      .tx_valid      (tx_valid[0]),
      .tx_ready      (tx_ready[0]),
      .tx_data       (tx_data[0]),
      .tx_last       (tx_last[0]),
      .tx_meta_length(tx_meta_length[0])
  );

  for (genvar i = 1; i < NETWORK_PORTS; i++) begin : unused_ports
    assign rx_ready[i]       = 1'b1;
    assign tx_valid[i]       = 1'b0;
    assign tx_data[i]        = '0;
    assign tx_last[i]        = 1'b0;
    assign tx_meta_length[i] = '0;
  end

  logic unused;
  assign unused = &{1'b0, seed, rx_valid, rx_data, rx_last, rx_meta_length, tx_ready};
endmodule
