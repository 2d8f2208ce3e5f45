// Delayed flushes: says when a cache must be empty, and keeps the time for that.
//
// memcached drops everything at the end of a flush's delay. Its clock has whole seconds: what it
// does, it does from two seconds before to one second after the delay that the card has counted, and
// from `error` earlier to `error` later if one of the two clocks is wrong by a part of the delay.
// From the first moment to the last one `pause` is high: nothing stored before may be served, and
// nothing be stored. Before and after, a cache works as always.
//
// A delay beyond 30 days is a time of day (seconds since 1970). It counts if `wall_known`.
// Several flushes may be under way. Pauses that meet are one. A flush is `timed` if it meets another
// one's pause or finds a timer; otherwise it must not go on to the server.
//
// `units` of time become seconds one in a cycle. After a jump of the clock `pause` is high until
// they are counted.
module flush_timers #(
    parameter int TIMERS = 8
) (
    input  logic                                clk,
    input  logic                                rst,
    input  logic [memcached_pkg::TIME_BITS-1:0] passed,       // units that end with this cycle
    input  logic [31:0]                         second,       // units in a second
    input  logic [4:0]                          accuracy,     // clocks differ by 1 / 2^accuracy at most
    input  logic                                wall_write,   // pulse: the time of day is `wall_time`
    input  logic [31:0]                         wall_time,
    input  logic                                clear,        // pulse: no flush is under way

    input  logic                                s_valid,      // a flush passes
    input  logic [31:0]                         s_delay,      // seconds, not 0
    output logic                                s_timed,

    output logic                                pause,
    output logic [31:0]                         wall_now,
    output logic                                wall_known,
    output logic [31:0]                         under_way
);
  localparam logic [31:0] MAX_DELAY = 32'd2_592_000;  // memcached's; above it is a time of day
  // Whole seconds of the server and of the card, and a server whose clock is a second late.
  localparam int MARGIN = 3;
  localparam int BITS = 35;  // of a time in seconds: twice the longest delay after the longest uptime

  logic [31:0]                   seconds;
  logic [31:0]                   offset;  // of the time of day
  logic [memcached_pkg::TIME_BITS:0] counted;  // units of seconds that are not over
  logic                          ends_second;
  logic                          behind;  // several seconds are to be counted

  logic [31:0]                   rest;    // seconds until the flush, by the card's clock
  logic [31:0]                   error;
  logic [31:0]                   early;
  logic [BITS-1:0]               starts;
  logic [BITS-1:0]               ends;
  logic                          known;

  logic [TIMERS-1:0]             used;
  logic [TIMERS-1:0]             running;
  logic [TIMERS-1:0]             meets;
  logic [TIMERS-1:0]             chosen;
  logic [TIMERS-1:0][BITS-1:0]   first;   // second of the pause
  logic [TIMERS-1:0][BITS-1:0]   last;

  assign ends_second = counted >= {1'b0, second} && second != '0;
  assign behind      = ends_second && counted >= {second, 1'b0};
  assign wall_now    = seconds + offset;

  always_ff @(posedge clk) begin
    counted <= counted + {1'b0, passed} - (ends_second ? {1'b0, second} : '0);
    if (ends_second) seconds <= seconds + 1'b1;
    if (wall_write) begin
      offset     <= wall_time - seconds;
      wall_known <= 1'b1;
    end
    if (rst) begin
      counted    <= '0;
      seconds    <= '0;
      offset     <= '0;
      wall_known <= 1'b0;
    end
  end

  always_comb begin
    rest   = '0;
    error  = '0;
    early  = '0;
    starts = '0;
    ends   = '0;
    known  = 1'b0;
    if (s_valid) begin
      known = s_delay <= MAX_DELAY || wall_known;
      if (s_delay <= MAX_DELAY) rest = s_delay;
      else if (s_delay > wall_now) rest = s_delay - wall_now;
      error  = rest >> accuracy;
      early  = error + 32'(MARGIN);
      starts = BITS'(seconds) + (rest > early ? BITS'(rest - early) : '0);
      ends   = BITS'(seconds) + BITS'(rest)
          + BITS'(error) + BITS'(MARGIN);
    end
  end

  for (genvar i = 0; i < TIMERS; i++) begin : timers
    assign running[i] = used[i] && first[i] <= BITS'(seconds);
    assign meets[i]   = used[i] && starts <= last[i] + 1'b1 && first[i] <= ends + 1'b1;

    always_ff @(posedge clk) begin
      if (chosen[i]) begin
        first[i] <= meets[i] && first[i] < starts ? first[i] : starts;
        last[i]  <= meets[i] && last[i] > ends ? last[i] : ends;
      end
      if (rst || clear) used[i] <= 1'b0;
      else if (chosen[i]) used[i] <= 1'b1;
      else if (last[i] < BITS'(seconds)) used[i] <= 1'b0;
    end
  end

  // The timer that the flush meets, or else a free one.
  always_comb begin
    chosen = '0;
    if (s_valid && known) begin
      chosen = meets != '0 ? meets & (~meets + 1'b1) : ~used & (used + 1'b1);
    end
  end

  assign s_timed = chosen != '0;
  assign pause   = running != '0 || (behind && used != '0);

  always_comb begin
    under_way = '0;
    for (int i = 0; i < TIMERS; i++) under_way += 32'(used[i]);
  end
endmodule
