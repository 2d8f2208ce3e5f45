// Counts the events of all processing elements (PEs), 32 bits each; the counters wrap.
module lake_counters #(
    parameter int PES = 5
) (
    input  logic                        clk,
    input  logic                        rst,
    input  lake_pkg::events_t [PES-1:0] events,
    input  logic [PES-1:0]              busy,
    input  logic                        starved,
    output lake_pkg::counters_t         counters,
    output logic [31:0]                 busy_cycles,
    output logic [31:0]                 starved_cycles
);
  localparam int EVENTS = $bits(lake_pkg::events_t);

  logic [PES-1:0][EVENTS-1:0] bits;
  logic [EVENTS-1:0][31:0]    totals;

  assign bits     = events;
  assign counters = totals;

  always_ff @(posedge clk) begin
    for (int event_bit = 0; event_bit < EVENTS; event_bit++) begin
      logic [4:0] number;
      number = '0;
      for (int pe = 0; pe < PES; pe++) number += 5'(bits[pe][event_bit]);
      totals[event_bit] <= totals[event_bit] + 32'(number);
    end
    busy_cycles    <= busy_cycles + ones(busy);
    starved_cycles <= starved_cycles + 32'(starved);
    if (rst) begin
      totals         <= '0;
      busy_cycles    <= '0;
      starved_cycles <= '0;
    end
  end

  function automatic logic [31:0] ones(input logic [PES-1:0] mask);
    ones = '0;
    for (int pe = 0; pe < PES; pe++) ones += 32'(mask[pe]);
  endfunction
endmodule
