// The client-side cache with one safety rule broken at a time, for simulation only. A write to the
// register at the last address chooses the mutant; 0, after reset, is the cache as it is.
// netkv/schemes/client_cache/mutants.py lists them. The table is small, and units of time are short,
// so that tests reach their limits in few cycles.
module client_cache_mutants #(
    parameter int NETWORK_PORTS = 1,  // the first one is used
    parameter int BYTES = 64,         // of a word; 64
    parameter int FUNCTIONS = 1,      // 1 to 8
    parameter int CONTROLLERS = 1,    // 0 to FUNCTIONS
    parameter int INDEX_BITS = 8,     // of the table of a controller
    parameter int KEY_BYTES = 64,
    parameter int VALUE_BYTES = 512,
    parameter int MISS_ENTRIES = 256, // of a controller
    parameter int QUEUE_SIZE = 256,
    parameter int PRESCALE = 7        // a unit of time has 2^PRESCALE cycles
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
  always_ff @(posedge clk) begin
    if (rst) mutant_pkg::ID <= 0;
    else if (reg_write && reg_address == 16'hfffc) mutant_pkg::ID <= reg_wdata;
  end

  client_cache_top #(
      .NETWORK_PORTS(NETWORK_PORTS),
      .BYTES(BYTES),
      .FUNCTIONS(FUNCTIONS),
      .CONTROLLERS(CONTROLLERS),
      .INDEX_BITS(INDEX_BITS),
      .KEY_BYTES(KEY_BYTES),
      .VALUE_BYTES(VALUE_BYTES),
      .MISS_ENTRIES(MISS_ENTRIES),
      .QUEUE_SIZE(QUEUE_SIZE),
      .PRESCALE(PRESCALE)
  ) cache (.*);
endmodule
