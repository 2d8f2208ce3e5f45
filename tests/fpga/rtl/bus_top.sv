// A design whose registers make it access the memory of the host, for tests of the harness. Its one
// virtio function has the registers that a driver needs to start, and queues that it never looks at.
/* verilator lint_off UNUSEDSIGNAL */
/* verilator lint_off UNUSEDPARAM */
module bus_top #(
    parameter int NETWORK_PORTS = 1,
    parameter int BYTES = 64,
    parameter int FUNCTIONS = 1
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

    output logic [7:0]                            m_axi_awid,
    output logic [63:0]                           m_axi_awaddr,
    output logic [7:0]                            m_axi_awlen,
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
    output logic [3:0]                            m_axi_aruser,
    output logic                                  m_axi_arvalid,
    input  logic                                  m_axi_arready,
    input  logic [7:0]                            m_axi_rid,
    input  logic [8*BYTES-1:0]                    m_axi_rdata,
    input  logic [1:0]                            m_axi_rresp,
    input  logic                                  m_axi_rlast,
    input  logic                                  m_axi_rvalid,
    output logic                                  m_axi_rready,

    input  logic [3:0]                            bar_function,
    input  logic [15:0]                           bar_address,
    input  logic                                  bar_write,
    input  logic [3:0]                            bar_strobe,
    input  logic [31:0]                           bar_wdata,
    input  logic                                  bar_read,
    output logic [31:0]                           bar_rdata,
    output logic [3*FUNCTIONS-1:0]                irq,

    input  logic [15:0]                           reg_address,
    input  logic                                  reg_write,
    input  logic [31:0]                           reg_wdata,
    input  logic                                  reg_read,
    output logic [31:0]                           reg_rdata
);
  // Registers: 0 address, 4 its upper half, 8 user (bits 3:0) and length (bits 15:8), c strobe of the
  // first 32 bytes, 10 written number (repeated in the word), 14 command: 1 read, 2 write, 4 a write
  // with an early last word, 8 interrupts in bits 31:16. Read: 20 to 3c the last read word, 40 words
  // read, 44 the last response (bits 1:0 of a read, 3:2 of a write), 48 writes that were answered,
  // 4c cycle, 50 cycle of the first read word, 54 notifications.
  logic [63:0] address;
  logic [3:0]  user;
  logic [7:0]  length;
  logic [31:0] strobe;
  logic [31:0] number;
  logic [7:0]  word;
  logic        early;

  logic [7:0][31:0] read_word;
  logic [31:0] read_words;
  logic [1:0]  read_response;
  logic [1:0]  write_response;
  logic [31:0] writes;
  logic [31:0] cycle;
  logic [31:0] first_read;
  logic [31:0] notifications;

  logic [7:0]  status;

  assign rx_ready = '1;
  assign tx_valid = '0;
  assign tx_data = '0;
  assign tx_last = '0;
  assign tx_meta_length = '0;

  assign m_axi_awid = 8'h12;
  assign m_axi_awaddr = address;
  assign m_axi_awlen = length;
  assign m_axi_awuser = user;
  assign m_axi_wdata = {(BYTES / 4) {number + 32'(word)}};
  assign m_axi_wstrb = {{(BYTES - 32) {strobe[0]}}, strobe};
  assign m_axi_wlast = word == length || early;
  assign m_axi_bready = 1'b1;
  assign m_axi_arid = 8'h34;
  assign m_axi_araddr = address;
  assign m_axi_arlen = length;
  assign m_axi_aruser = user;
  assign m_axi_rready = 1'b1;

  always_ff @(posedge clk) begin
    cycle <= cycle + 1;
    irq <= '0;
    if (m_axi_arready) m_axi_arvalid <= 1'b0;
    if (m_axi_awready) m_axi_awvalid <= 1'b0;
    if (m_axi_wvalid && m_axi_wready) begin
      word <= word + 1;
      if (m_axi_wlast) m_axi_wvalid <= 1'b0;
    end
    if (m_axi_rvalid) begin
      read_word <= m_axi_rdata[255:0];
      read_words <= read_words + 1;
      read_response <= m_axi_rresp;
      if (read_words == 0) first_read <= cycle;
    end
    if (m_axi_bvalid) begin
      write_response <= m_axi_bresp;
      writes <= writes + 1;
    end
    if (reg_write) begin
      case (reg_address)
        16'h00: address[31:0] <= reg_wdata;
        16'h04: address[63:32] <= reg_wdata;
        16'h08: begin
          user <= reg_wdata[3:0];
          length <= reg_wdata[15:8];
        end
        16'h0c: strobe <= reg_wdata;
        16'h10: number <= reg_wdata;
        16'h14: begin
          word <= '0;
          read_words <= '0;
          cycle <= '0;
          early <= reg_wdata[2];
          m_axi_arvalid <= reg_wdata[0];
          m_axi_awvalid <= reg_wdata[1];
          m_axi_wvalid <= reg_wdata[1];
          if (reg_wdata[3]) irq <= reg_wdata[16+:3*FUNCTIONS];
        end
        default: ;
      endcase
    end
    case (reg_address)
      16'h40: reg_rdata <= read_words;
      16'h44: reg_rdata <= {28'd0, write_response, read_response};
      16'h48: reg_rdata <= writes;
      16'h4c: reg_rdata <= cycle;
      16'h50: reg_rdata <= first_read;
      16'h54: reg_rdata <= notifications;
      default: reg_rdata <= read_word[reg_address[4:2]];
    endcase

    // The status, the features of VERSION_1, and queues of 8 descriptors.
    bar_rdata <= bar_address == 16'h14 ? 32'(status) : bar_address == 16'h18 ? 32'd8 : 32'd1;
    if (bar_write && bar_address == 16'h14 && bar_strobe[0]) status <= bar_wdata[7:0];
    if (bar_write && bar_address[15:12] == 4'h3) notifications <= notifications + 1;

    if (rst) begin
      m_axi_arvalid <= 1'b0;
      m_axi_awvalid <= 1'b0;
      m_axi_wvalid <= 1'b0;
      irq <= '0;
      status <= '0;
      writes <= '0;
      notifications <= '0;
      word <= '0;
      early <= 1'b0;
      strobe <= '1;
    end
  end
endmodule
