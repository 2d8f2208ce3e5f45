// Registers of a module on the register bus: CONTROLS words that software writes and reads, then
// STATUSES words that it reads. Word i is at address 4*i. Other addresses read as zero.
// Latency of a read: one cycle.
module register_file #(
    parameter int CONTROLS = 1,
    parameter int STATUSES = 1,
    parameter logic [32*CONTROLS-1:0] RESET = '0  // of the controls
) (
    input  logic                      clk,
    input  logic                      rst,

    input  logic [15:0]               address,
    input  logic                      write,
    input  logic [31:0]               wdata,
    input  logic                      read,
    output logic [31:0]               rdata,

    output logic [CONTROLS-1:0][31:0] control,
    input  logic [STATUSES-1:0][31:0] status  // while `read` is high
);
  logic [13:0] index;

  assign index = address[15:2];

  always_ff @(posedge clk) begin
    if (read) begin
      rdata <= '0;
      for (int i = 0; i < CONTROLS; i++) begin
        if (index == 14'(i)) rdata <= control[i];
      end
      for (int i = 0; i < STATUSES; i++) begin
        if (index == 14'(CONTROLS + i)) rdata <= status[i];
      end
    end
    if (rst) begin
      control <= RESET;
    end else if (write) begin
      for (int i = 0; i < CONTROLS; i++) begin
        if (index == 14'(i)) control[i] <= wdata;
      end
    end
  end

  logic unused;
  assign unused = &{1'b0, address[1:0]};
endmodule
