// Grants one of several requests, round robin. The grant is combinational; a requester waits for at
// most REQUESTS - 1 grants to others.
module round_robin_arbiter #(
    parameter int REQUESTS = 4
) (
    input  logic                clk,
    input  logic                rst,

    input  logic [REQUESTS-1:0] request,
    output logic [REQUESTS-1:0] grant,  // one-hot; 0 without a request
    input  logic                accept  // the grant is used: the next one looks behind it first
);
  logic [REQUESTS-1:0] behind;  // positions behind the last accepted grant
  logic [REQUESTS-1:0] preferred;
  logic [REQUESTS-1:0] candidates;

  assign preferred  = request & behind;
  assign candidates = preferred != '0 ? preferred : request;
  assign grant      = candidates & (~candidates + 1'b1);

  always_ff @(posedge clk) begin
    if (rst) begin
      behind <= '0;
    end else if (accept && grant != '0) begin
      behind <= ~(grant | (grant - 1'b1));
    end
  end
endmodule
