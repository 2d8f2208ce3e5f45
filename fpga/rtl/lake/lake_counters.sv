// Counts the events of all processing elements (PEs), 32 bits each; the counters wrap.
module lake_counters #(
    parameter int PES = 5
) (
    input  logic                        clk,
    input  logic                        rst,
    input  logic [PES-1:0][lake_pkg::EVENTS-1:0] events,
    input  logic [PES-1:0]              busy,
    input  logic                        starved,
    output lake_pkg::counters_t         counters,
    output logic [31:0]                 busy_cycles,
    output logic [31:0]                 starved_cycles
);
  logic [lake_pkg::EVENTS-1:0][31:0]    totals;

  assign counters = totals;

  function automatic logic [31:0] ones(input logic [PES-1:0] mask);
    ones = '0;
    for (int pe = 0; pe < PES; pe++) ones += 32'(mask[pe]);
  endfunction

  for (genvar i = 0; i < lake_pkg::EVENTS; i++) begin : each
    logic [PES-1:0] raised;
    for (genvar pe = 0; pe < PES; pe++) begin : elements
      assign raised[pe] = events[pe][i];
    end
    always_ff @(posedge clk) begin
      // Most cycles have no event: a simulation skips the sum.
      if (rst) totals[i] <= '0;
      else if (raised != '0) totals[i] <= totals[i] + ones(raised);
    end
  end

  always_ff @(posedge clk) begin
    busy_cycles    <= rst ? '0 : busy_cycles + ones(busy);
    starved_cycles <= rst ? '0 : starved_cycles + 32'(starved);
  end
endmodule
