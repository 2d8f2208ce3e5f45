// Counts events in windows of 2^WINDOW_LOG2 cycles, and decides with hysteresis whether their rate
// is high: it becomes high with `threshold_on` events in a window, and low with less than
// `threshold_off`. `skip` further cycles without an event pass with this one, less than a window.
module rate_monitor #(
    parameter int WINDOW_LOG2 = 16
) (
    input  logic        clk,
    input  logic        rst,

    input  logic        count,          // one event in this cycle
    input  logic [31:0] skip = '0,      // for simulations; only without `count`
    input  logic [31:0] threshold_on,   // events in a window
    input  logic [31:0] threshold_off,
    output logic        high,
    output logic [31:0] rate            // events in the last complete window
);
  logic [WINDOW_LOG2-1:0] position;
  logic [31:0]            events;
  logic [31:0]            total;
  logic [WINDOW_LOG2:0]   following;

  assign total     = events + {31'd0, count};
  assign following = {1'b0, position} + {1'b0, skip[WINDOW_LOG2-1:0]} + 1'b1;

  always_ff @(posedge clk) begin
    if (rst) begin
      position <= '0;
      events   <= '0;
      high     <= 1'b0;
      rate     <= '0;
    end else begin
      position <= following[WINDOW_LOG2-1:0];
      if (following[WINDOW_LOG2]) begin
        events <= '0;
        rate   <= total;
        high   <= total >= (high ? threshold_off : threshold_on);
      end else begin
        events <= total;
      end
    end
  end

  logic unused;
  assign unused = &{1'b0, skip};
endmodule
