// A module without the ports of a design.
/* verilator lint_off UNUSEDPARAM */
module portless_top #(
    parameter int NETWORK_PORTS = 1,
    parameter int BYTES = 32
) (
    input  logic clk,
    output logic tick
);
  always_ff @(posedge clk) begin
    tick <= !tick;
  end
endmodule
