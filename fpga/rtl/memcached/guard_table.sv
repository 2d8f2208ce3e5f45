// Versions of keys, and mutations without reply: forbids a fill with an old value.
//
// The table is indexed by a part of the key's hash. An entry holds `version` (counts mutations that
// passed), `inflight` (mutations whose reply has not come), the time of the last mutation, and
// `uncacheable` (a mutation with an expiry passed; stays until reset).
//
//   MUTATE  version + 1, inflight + 1, time = now; uncacheable if `expiring`
//   ACK     inflight - 1, not below 0
//   READ    changes nothing
//
// Each command is atomic and answers with the entry after it.
// 1. `inflight` counts as 0 when the last mutation is older than lifetime + MARGIN: its reply and
//    those of all earlier mutations are lost. MARGIN covers the time from a MUTATE to the insertion
//    of its miss-table entry and from the take of that entry to the ACK, so that the ACK of an expired
//    mutation never counts for a younger one.
// 2. `inflight` at its maximum stays there until it expires, for the number is not known any more.
// 3. A sweep clears expired entries in idle cycles, so that the clock may wrap.
// Throughput: one command a cycle. Latency: one cycle. After reset the table clears its entries, a
// cycle each, and accepts nothing.
module guard_table #(
    parameter int MARGIN = 16,  // units of time
    parameter int INDEX_BITS = memcached_pkg::GUARD_BITS,
    parameter int TAG_BITS = 3
) (
    input  logic                           clk,
    input  logic                           rst,
    input  logic [memcached_pkg::TIME_BITS-1:0] now,
    input  logic [memcached_pkg::TIME_BITS-1:0] lifetime,

    input  logic                           s_valid,
    output logic                           s_ready,
    input  memcached_pkg::guard_request_t       s_request,
    input  logic [TAG_BITS-1:0]            s_tag,
    output logic                           s_response_valid,
    output memcached_pkg::guard_response_t      s_response,
    output logic [TAG_BITS-1:0]            s_response_tag
);
  typedef struct packed {
    memcached_pkg::guard_response_t      state;
    logic [memcached_pkg::TIME_BITS-1:0] last_mutation;
  } entry_t;

  // One entry in SWEEP_INTERVAL cycles.
  localparam int SWEEP_BITS = 5;

  logic                      clearing;
  logic [INDEX_BITS-1:0]     walk;  // of the clearing, then of the sweep
  logic [SWEEP_BITS-1:0]     pause;
  logic                      sweep;

  logic                      step_valid;  // a command
  logic                      step_sweep;
  memcached_pkg::guard_command_t  step_command;
  logic                      step_expiring;
  logic [INDEX_BITS-1:0]     step_index;

  logic                      forward;     // the RAM does not hold the last write yet
  entry_t                    forwarded;
  entry_t                    stored;
  entry_t                    previous;
  entry_t                    after;
  logic                      expired;
  logic                      accept;
  logic                      ram_read;
  logic                      ram_write;
  logic [INDEX_BITS-1:0]     ram_read_index;

  logic unused_bits;
  assign unused_bits = &{1'b0, s_request.index};

  assign s_ready = !clearing;
  assign accept  = s_valid && s_ready;
  assign sweep   = !s_valid && !clearing && pause == '0;

  assign ram_read       = accept || sweep;
  assign ram_read_index = accept ? s_request.index[INDEX_BITS-1:0] : walk;
  assign ram_write      = clearing || step_sweep || (step_valid && step_command != memcached_pkg::GUARD_READ);

  assign previous = forward ? forwarded : stored;
  assign expired = {1'b0, now - previous.last_mutation}
      > {1'b0, lifetime} + (memcached_pkg::TIME_BITS + 1)'(MARGIN);

  always_comb begin
    after = '0;
    if (step_valid || step_sweep) after = previous;
    if (expired) begin
      after.state.inflight = '0;
    end
    if (step_valid && step_command == memcached_pkg::GUARD_MUTATE) begin
      after.state.version     = previous.state.version + 1'b1;
      after.state.uncacheable = previous.state.uncacheable || step_expiring;
      after.last_mutation     = now;
      if (after.state.inflight != '1) begin
        after.state.inflight = after.state.inflight + 1'b1;
      end
    end else if (step_valid && step_command == memcached_pkg::GUARD_ACK) begin
      if (after.state.inflight != '1 && after.state.inflight != '0) begin
        after.state.inflight = after.state.inflight - 1'b1;
      end
    end
  end

  assign s_response_valid = step_valid;
  assign s_response       = after.state;

  ram_sdp #(
      .WIDTH($bits(stored)),
      .DEPTH(1 << INDEX_BITS)
  ) ram (
      .clk,
      .write_enable(ram_write),
      .write_address(clearing ? walk : step_index),
      .write_data(clearing ? '0 : after),
      .read_enable(ram_read),
      .read_address(ram_read_index),
      .read_data(stored)
  );

  always_ff @(posedge clk) begin
    step_sweep    <= sweep && !rst;
    step_command  <= s_request.command;
    step_expiring <= s_request.expiring;
    step_index    <= ram_read_index;
    forward       <= ram_write && step_index == ram_read_index;
    if (ram_write) forwarded <= after;
    if (accept) begin
      s_response_tag <= s_tag;
    end
    if (clearing || sweep) begin
      walk <= walk + 1'b1;
    end
    if (rst) begin
      clearing   <= 1'b1;
      walk       <= '0;
      pause      <= '0;
      step_valid <= 1'b0;
    end else begin
      clearing   <= clearing && walk != '1;
      step_valid <= accept;
      if (pause != '0) begin
        pause <= pause - 1'b1;
      end else if (sweep) begin
        pause <= '1;
      end
    end
  end
endmodule
