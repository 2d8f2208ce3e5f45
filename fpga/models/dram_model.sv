// Behavioural model of a DDR3 SODIMM behind its controller (not for synthesis).
//
// Requests start in the order in which they come, each when its bank is free again, so that a read
// sees each earlier write. `ready` is low while QUEUE requests wait or run. Data of a read come
// IDLE_LATENCY cycles after its start, and up to JITTER cycles later, by `seed`. The content is random
// at the start, and stays over a reset.
//
// Sources of the defaults, for a clock of 200 MHz
//   IDLE_LATENCY, QUEUE  LaKe (paper, section II-E): "around 115ns in a zero load test, and ... up to
//                        650ns under high load" = 23 and 130 cycles; QUEUE is chosen for the latter
//   BANKS, ROW_CYCLE     two ranks of eight banks; tRC of DDR3-1866 is 47 ns
//   ACTIVATE_INTERVAL    tFAW of 27 ns allows four row activations in 5.4 cycles
//   JITTER               the controller's own clock (233 MHz) against ours
//   REFRESH_*            tREFI 7.8 us; tRFC of a 4 Gb chip is 260 ns, all banks stand still
module dram_model #(
    parameter int LINES = 1 << 16,  // a power of two
    parameter int TAG_BITS = 4,
    parameter int IDLE_LATENCY = 23,
    parameter int JITTER = 1,
    parameter int BANKS = 16,
    parameter int ROW_CYCLE = 10,
    parameter int ACTIVATE_INTERVAL = 2,
    parameter int QUEUE = 18,
    parameter int REFRESH_INTERVAL = 1560,
    parameter int REFRESH_CYCLES = 52
) (
    input  logic                              clk,
    input  logic                              rst,
    input  logic [31:0]                       seed,  // taken during reset

    input  logic                              valid,
    output logic                              ready,
    input  logic                              write,
    input  logic [lake_pkg::ADDRESS_BITS-1:0] address,
    input  logic [lake_pkg::LINE_BITS-1:0]    wdata,
    input  logic [TAG_BITS-1:0]               tag,

    output logic                              response_valid,
    output logic [lake_pkg::LINE_BITS-1:0]    response_rdata,
    output logic [TAG_BITS-1:0]               response_tag,

    // `skip` further cycles pass with this one, up to `quiet_cycles`.
    input  logic [31:0]                       skip = '0,
    output logic [31:0]                       quiet_cycles
);
  localparam int LINE_SELECT_BITS = $clog2(LINES);
  localparam int BANK_BITS = $clog2(BANKS);
  localparam int PLACE_BITS = $clog2(QUEUE);

  typedef logic [31:0] cycle_t;

  logic [lake_pkg::LINE_BITS-1:0] memory[LINES];

  cycle_t                         now;
  cycle_t                         bank_free[BANKS];
  cycle_t                         next_start;
  cycle_t                         next_done;
  cycle_t                         refresh_end;
  cycle_t                         refresh;  // start of the next one, or of the one that runs
  logic [31:0]                    random;
  logic [31:0]                    random_1;
  logic [31:0]                    random_2;

  // The queue.
  logic [PLACE_BITS-1:0]          head;
  logic [PLACE_BITS-1:0]          tail;
  logic [PLACE_BITS:0]            count;
  cycle_t                         done[QUEUE];
  logic                           is_read[QUEUE];
  logic [TAG_BITS-1:0]            tags[QUEUE];
  logic [lake_pkg::LINE_BITS-1:0] lines[QUEUE];

  logic [LINE_SELECT_BITS-1:0]    line;
  logic [BANK_BITS-1:0]           bank;
  cycle_t                         start;
  cycle_t                         end_of_request;
  logic                           accept;
  logic                           complete;

  assign ready = count != (PLACE_BITS + 1)'(QUEUE);
  assign accept = valid && ready;
  assign refresh_end = refresh + REFRESH_CYCLES;
  assign quiet_cycles = count == '0 && later(now, refresh_end) != now ? refresh_end - now - 1 : '0;
  assign complete = count != '0 && done[head] == now;
  assign line = address[LINE_SELECT_BITS-1:0];
  assign bank = address[BANK_BITS-1:0];
  assign random_1 = random ^ (random << 13);
  assign random_2 = random_1 ^ (random_1 >> 17);

  // Later of two times, for a counter that wraps.
  function automatic cycle_t later(input cycle_t a, input cycle_t b);
    later = a - b < 32'h8000_0000 ? a : b;
  endfunction

  always_comb begin
    start = now;
    end_of_request = now;
    if (valid) begin
      start = later(later(now, bank_free[bank]), next_start);
      if (later(start, refresh) == start) begin
        start = later(start, refresh_end);
      end
      // The response is in the register of the output one cycle after `done`.
      end_of_request = later(start + IDLE_LATENCY - 1 + (random >> 8) % (JITTER + 1), next_done);
    end
  end

  always_ff @(posedge clk) begin
    now <= now + 1 + skip;
    if (later(now, refresh_end) == now) begin
      refresh <= refresh + REFRESH_INTERVAL;
    end
    if (accept) begin
      if (!rst && 32'(address) >= LINES) begin
        $error("dram_model: line %0d of %0d", address, LINES);
      end
      random <= random_2 ^ (random_2 << 5);
      bank_free[bank] <= start + ROW_CYCLE;
      next_start <= start + ACTIVATE_INTERVAL;
      next_done <= end_of_request + 1;
      done[tail] <= end_of_request;
      is_read[tail] <= !write;
      tags[tail] <= tag;
      if (write) begin
        memory[line] <= wdata;
      end else begin
        lines[tail] <= memory[line];
      end
      tail <= tail == PLACE_BITS'(QUEUE - 1) ? '0 : tail + 1'b1;
    end
    response_valid <= complete && is_read[head] && !rst;
    if (complete) begin
      response_rdata <= lines[head];
      response_tag <= tags[head];
      head <= head == PLACE_BITS'(QUEUE - 1) ? '0 : head + 1'b1;
    end
    count <= count + (PLACE_BITS + 1)'(accept) - (PLACE_BITS + 1)'(complete);
    if (rst) begin
      random <= seed | 32'd1;
      now <= '0;
      refresh <= seed % REFRESH_INTERVAL;
      next_start <= '0;
      next_done <= '0;
      for (int each = 0; each < BANKS; each++) begin
        bank_free[each] <= '0;
      end
      head <= '0;
      tail <= '0;
      count <= '0;
    end
  end
endmodule
