// Counts events in windows of 2^WINDOW_LOG2 cycles, and decides with hysteresis whether their rate
// is high: it becomes high with `threshold_on` events in a window, and low with less than
// `threshold_off`.
module rate_monitor #(
    parameter int WINDOW_LOG2 = 16
) (
    input  logic        clk,
    input  logic        rst,

    input  logic        count,          // one event in this cycle
    input  logic [31:0] threshold_on,   // events in a window
    input  logic [31:0] threshold_off,
    output logic        high,
    output logic [31:0] rate            // events in the last complete window
);
  logic [WINDOW_LOG2-1:0] position;
  logic [31:0]            events;
  logic [31:0]            total;

  assign total = events + {31'd0, count};

  always_ff @(posedge clk) begin
    if (rst) begin
      position <= '0;
      events   <= '0;
      high     <= 1'b0;
      rate     <= '0;
    end else begin
      position <= position + 1'b1;
      if (position == '1) begin
        events <= '0;
        rate   <= total;
        high   <= total >= (high ? threshold_off : threshold_on);
      end else begin
        events <= total;
      end
    end
  end
endmodule
