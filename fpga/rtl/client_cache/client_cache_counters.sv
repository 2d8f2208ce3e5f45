// Counts the events of a function, 32 bits each; the counters wrap.
module client_cache_counters #(
    parameter int CONTROLLERS = 1,
    parameter int FUNCTION = 0
) (
    input  logic                           clk,
    input  logic                           rst,

    input  logic [CONTROLLERS-1:0][client_cache_pkg::EVENTS-1:0] events,
    input  logic [CONTROLLERS-1:0][7:0]    events_source,  // functions, one-hot
    input  client_cache_pkg::path_events_t path_events,
    input  logic [15:0]                    sent_length,
    input  logic [15:0]                    received_length,

    // From the last field of path_events_t to the first, those of events_t in the same order, then
    // bytes sent and received.
    output logic [client_cache_pkg::COUNTERS-1:0][31:0] counters
);
  localparam int EVENTS = client_cache_pkg::EVENTS;
  localparam int PATH_EVENTS = client_cache_pkg::PATH_EVENTS;

  logic [EVENTS-1:0]             own;
  logic [EVENTS+PATH_EVENTS-1:0] raised;

  always_comb begin
    own = '0;
    for (int i = 0; i < CONTROLLERS; i++) begin
      if (events_source[i][FUNCTION]) own = own | events[i];
    end
  end

  assign raised = {own, path_events};

  for (genvar i = 0; i < EVENTS + PATH_EVENTS; i++) begin : each
    logic [31:0] total;
    assign counters[i] = total;

    always_ff @(posedge clk) begin
      // Most cycles have no event: a simulation skips the sums.
      if (rst) total <= '0;
      else if (raised != '0) total <= total + 32'(raised[i]);
    end
  end

  logic [31:0] sent_bytes;
  logic [31:0] received_bytes;
  assign counters[EVENTS+PATH_EVENTS]   = sent_bytes;
  assign counters[EVENTS+PATH_EVENTS+1] = received_bytes;

  always_ff @(posedge clk) begin
    if (rst) sent_bytes <= '0;
    else if (path_events.sent) sent_bytes <= sent_bytes + 32'(sent_length);
    if (rst) received_bytes <= '0;
    else if (path_events.received) received_bytes <= received_bytes + 32'(received_length);
  end

  logic unused;
  assign unused = &{1'b0, events_source, path_events};
endmodule
