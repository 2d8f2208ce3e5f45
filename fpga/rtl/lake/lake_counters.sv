// Counts the events of all processing elements (PEs), 32 bits each; the counters wrap.
module lake_counters #(
    parameter int PES = 5
) (
    input  logic                        clk,
    input  logic                        rst,
    input  logic [PES-1:0][lake_pkg::EVENTS_STRIDE-1:0] events,
    input  logic [PES-1:0]              busy,
    input  logic                        starved,
    output lake_pkg::counters_t         counters,
    output logic [31:0]                 busy_cycles,
    output logic [31:0]                 starved_cycles
);
  localparam int EVENT_BITS = $clog2(lake_pkg::EVENTS_STRIDE);

  logic [lake_pkg::EVENTS-1:0][31:0] totals;

  assign counters = totals;

  function automatic logic [31:0] ones(input logic [PES-1:0] mask);
    ones = '0;
    for (int pe = 0; pe < PES; pe++) ones += 32'(mask[pe]);
  endfunction

  // How many PEs raise an event.
  function automatic logic [31:0] raised(input logic [EVENT_BITS-1:0] index);
    raised = '0;
    for (int pe = 0; pe < PES; pe++) raised += 32'(events[pe][index]);
  endfunction

  for (genvar i = 0; i < lake_pkg::EVENTS; i++) begin : each
    logic [31:0] total;
    assign totals[i] = total;

    always_ff @(posedge clk) begin
      // Most cycles have no event: a simulation skips the sums.
      if (rst) total <= '0;
      else if (events != '0) total <= total + raised(EVENT_BITS'(i));
    end
  end

  always_ff @(posedge clk) begin
    busy_cycles    <= rst ? '0 : busy_cycles + ones(busy);
    starved_cycles <= rst ? '0 : starved_cycles + 32'(starved);
  end

  logic unused;
  assign unused = &{1'b0, events};
endmodule
