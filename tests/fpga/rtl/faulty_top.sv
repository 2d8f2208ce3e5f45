// A design whose registers make it fail, for tests of the harness.
/* verilator lint_off UNUSEDSIGNAL */
/* verilator lint_off UNUSEDPARAM */
module faulty_top #(
    parameter int NETWORK_PORTS = 1,
    parameter int BYTES = 32
) (
    input  logic                                clk,
    input  logic                                rst,
    input  logic [31:0]                         seed,

    input  logic [NETWORK_PORTS:0]              rx_valid,
    output logic [NETWORK_PORTS:0]              rx_ready,
    input  logic [NETWORK_PORTS:0][8*BYTES-1:0] rx_data,
    input  logic [NETWORK_PORTS:0]              rx_last,
    input  logic [NETWORK_PORTS:0][15:0]        rx_meta_length,

    output logic [NETWORK_PORTS:0]              tx_valid,
    input  logic [NETWORK_PORTS:0]              tx_ready,
    output logic [NETWORK_PORTS:0][8*BYTES-1:0] tx_data,
    output logic [NETWORK_PORTS:0]              tx_last,
    output logic [NETWORK_PORTS:0][15:0]        tx_meta_length,

    input  logic [15:0]                         reg_address,
    input  logic                                reg_write,
    input  logic [31:0]                         reg_wdata,
    input  logic                                reg_read,
    output logic [31:0]                         reg_rdata
);
  logic [31:0] without_reset;  // keeps the random value of its creation

  assign rx_ready = '0;
  assign tx_data = '0;
  assign tx_last = '1;

  always_ff @(posedge clk) begin
    tx_valid <= '0;
    reg_rdata <= without_reset;
    if (reg_write && reg_address == 16'h0) begin
      $display("hello from the design");
      $fatal(1, "told to fail");
    end
    if (reg_write && reg_address == 16'h4) begin
      $finish;
    end
    if (reg_write && reg_address == 16'h8) begin
      // One word with a length of the caller's choice.
      tx_valid[0] <= 1'b1;
      tx_meta_length <= {(NETWORK_PORTS + 1) {reg_wdata[15:0]}};
    end
    if (reg_write && reg_address == 16'hc) begin
      without_reset <= reg_wdata;
    end
  end
endmodule
