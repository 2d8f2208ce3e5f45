// Requests that were forwarded to the server, to be found again by its replies.
//
// Paper: section II-F: a CAM, "where we query using the opaque value and the source UDP port, and the
// reply is the original query's key". Here the tag holds the opcode and the client's address, too.
// Commands: see lake_pkg::miss_command_t.
//
// Rules
// 1. An entry is live from INSERT to TAKE or until it is older than `lifetime`. It is never replaced
//    while it is live. After a TAKE its slot is free again at RELEASE.
// 2. INSERT finds live entries with its tag: these and the new entry become ambiguous. TAKE gives the
//    one with the lowest slot.
// 3. Requests without an entry (MARK, INSERT into a full table) leave the time in the mark table, at
//    the hash of their tag. INSERT there within `lifetime` makes an ambiguous entry, and MARK makes
//    live entries with its tag ambiguous.
// A sweep looks at one entry a cycle, so an entry lives up to ENTRIES cycles longer than `lifetime`.
//
// Throughput: one command a cycle, but two cycles for INSERT, TAKE and MARK. Latency: two cycles.
// After reset the mark table is cleared, a cycle for each of MARKS, and no command accepted.
module miss_table #(
    parameter int ENTRIES = 256,  // a power of two, up to 256
    parameter int MARKS = 1024,   // a power of two
    parameter int TAG_BITS = 3
) (
    input  logic                           clk,
    input  logic                           rst,
    input  logic [lake_pkg::TIME_BITS-1:0] now,
    input  logic [lake_pkg::TIME_BITS-1:0] lifetime,
    input  logic [31:0]                    skip = '0,  // further cycles pass; only without entries

    input  logic                           s_valid,
    output logic                           s_ready,
    input  lake_pkg::miss_request_t        s_request,
    input  logic [TAG_BITS-1:0]            s_tag,
    output logic                           s_response_valid,
    output lake_pkg::miss_response_t       s_response,
    output logic [TAG_BITS-1:0]            s_response_tag,

    output logic [8:0]                     live_entries,
    // High for a cycle at each event.
    output logic                           insert_event,
    output logic                           full_event,
    output logic                           ambiguous_event,
    output logic                           expire_event
);
  localparam int SLOT_BITS = $clog2(ENTRIES);
  localparam int MARK_BITS = $clog2(MARKS);
  localparam int WINDOW_SELECT_BITS = 3;

  typedef struct packed {
    logic                           valid;
    logic [lake_pkg::TIME_BITS-1:0] inserted;
  } mark_t;

  // The tag, folded by exclusive or.
  function automatic logic [MARK_BITS-1:0] mark_hash(input lake_pkg::miss_tag_t tag);
    logic [lake_pkg::MISS_TAG_BITS+MARK_BITS-1:0] rest;
    rest = {{MARK_BITS{1'b0}}, tag};
    mark_hash = '0;
    for (int at = 0; at < lake_pkg::MISS_TAG_BITS; at += MARK_BITS) begin
      mark_hash ^= rest[at+:MARK_BITS];
    end
  endfunction

  // For each bit of a slot's number, a mask of the slots that have it.
  function automatic logic [SLOT_BITS*ENTRIES-1:0] slots_with_bit();
    for (int at = 0; at < SLOT_BITS; at++) begin
      for (int slot = 0; slot < ENTRIES; slot++) slots_with_bit[at*ENTRIES+slot] = slot[at];
    end
  endfunction

  localparam logic [SLOT_BITS*ENTRIES-1:0] SLOTS_WITH_BIT = slots_with_bit();

  function automatic logic older(input logic [lake_pkg::TIME_BITS-1:0] age,
                                 input logic [lake_pkg::TIME_BITS-1:0] limit);
    older = age > limit;
  endfunction

  // State of the slots.
  logic [lake_pkg::MISS_TAG_BITS-1:0]   tags[ENTRIES];
  logic [ENTRIES-1:0]         live;
  logic [ENTRIES-1:0]         held;       // taken, not released yet
  logic [ENTRIES-1:0]         ambiguous;

  // Slots that were in use before; those from `fresh` on never were.
  logic [SLOT_BITS:0]         fresh;
  logic [SLOT_BITS-1:0]       free_slots[ENTRIES];
  logic [SLOT_BITS-1:0]       free_head;
  logic [SLOT_BITS-1:0]       free_tail;
  logic [SLOT_BITS:0]         free_count;
  logic                       free_push;
  logic [SLOT_BITS-1:0]       free_pushed;
  logic                       free_pop;
  logic                       slot_available;
  logic [SLOT_BITS-1:0]       slot_offered;

  // Stage 1: tags compared, mark read.
  logic                       compare_valid;
  lake_pkg::miss_command_t    compare_command;
  logic [SLOT_BITS-1:0]       compare_slot;
  logic [2:0]                 compare_window;
  lake_pkg::miss_tag_t        compare_miss_tag;
  lake_pkg::miss_entry_t      compare_entry;
  logic [TAG_BITS-1:0]        compare_tag;
  logic [MARK_BITS-1:0]       compare_mark;
  logic [ENTRIES-1:0]         equal;
  mark_t                      mark;
  logic [ENTRIES-1:0]         matching;
  logic [ENTRIES-1:0]         lowest_match;
  logic                       matched;
  logic [SLOT_BITS-1:0]       matched_slot;
  logic                       marked;
  logic                       exclusive;  // the command takes two cycles
  logic                       is_insert;
  logic                       is_take;
  logic                       is_mark;
  logic                       is_release;

  // Stage 2: the response.
  logic                             response_hit;
  logic                             response_ambiguous;
  logic [SLOT_BITS-1:0]             response_slot;
  logic [lake_pkg::WINDOW_BITS-1:0] key;
  lake_pkg::miss_entry_t            entry;

  // Sweeps.
  logic [SLOT_BITS-1:0]           sweep_next;
  logic [SLOT_BITS-1:0]           sweep_slot;
  logic                           sweep_live;
  logic [lake_pkg::TIME_BITS-1:0] sweep_inserted;
  logic                           expire;
  logic                           clearing;
  logic [MARK_BITS-1:0]           mark_walk;
  logic                           mark_sweep;
  logic                           mark_sweep_step;
  logic [MARK_BITS-1:0]           mark_swept;
  logic                           mark_write;

  logic accept;
  logic inserts;

  logic unused_bits;
  assign unused_bits = &{1'b0, s_request.slot, skip};

  assign exclusive = is_insert || is_take || is_mark;
  assign s_ready = !clearing && !exclusive;
  assign accept = s_valid && s_ready;

  assign is_insert  = compare_valid && compare_command == lake_pkg::MISS_INSERT;
  assign is_take    = compare_valid && compare_command == lake_pkg::MISS_TAKE;
  assign is_mark    = compare_valid && compare_command == lake_pkg::MISS_MARK;
  assign is_release = compare_valid && compare_command == lake_pkg::MISS_RELEASE;

  assign matching = exclusive ? equal & live : '0;
  assign matched = matching != '0;
  assign marked = mark.valid && !older(now - mark.inserted, lifetime) && mutant_pkg::ID != 14;
  always_comb begin
    lowest_match = '0;
    matched_slot = '0;
    if (matched) begin
      lowest_match = matching & (~matching + 1'b1);
      for (int each = 0; each < SLOT_BITS; each++) begin
        matched_slot[each] = (lowest_match & SLOTS_WITH_BIT[each*ENTRIES+:ENTRIES]) != '0;
      end
    end
  end

  assign slot_available = !fresh[SLOT_BITS] || free_count != '0;
  assign slot_offered   = !fresh[SLOT_BITS] ? fresh[SLOT_BITS-1:0] : free_slots[free_head];
  assign inserts  = is_insert && slot_available;
  assign free_pop = inserts && fresh[SLOT_BITS];

  // The slot was live when its time was read, so the time is of the entry that is live now.
  assign expire = sweep_live && live[sweep_slot] && older(now - sweep_inserted, lifetime)
      && !exclusive && !is_release;
  assign free_push   = expire || (is_release && held[compare_slot]);
  assign free_pushed = is_release ? compare_slot : sweep_slot;

  assign mark_sweep = !s_valid && !clearing;
  assign mark_write = clearing || is_mark || (is_insert && !slot_available)
      || (mark_sweep_step && mark.valid && !marked);

  ram_sdp #(
      .WIDTH(lake_pkg::WINDOW_BITS),
      .DEPTH(ENTRIES << WINDOW_SELECT_BITS)
  ) keys (
      .clk,
      .write_enable(accept && s_request.command == lake_pkg::MISS_WRITE_KEY),
      .write_address({s_request.slot[SLOT_BITS-1:0], s_request.window}),
      .write_data(s_request.key),
      .read_enable(compare_valid && compare_command == lake_pkg::MISS_READ_KEY),
      .read_address({compare_slot, compare_window}),
      .read_data(key)
  );

  ram_sdp #(
      .WIDTH(lake_pkg::MISS_ENTRY_BITS),
      .DEPTH(ENTRIES)
  ) entries (
      .clk,
      .write_enable(inserts),
      .write_address(slot_offered),
      .write_data(compare_entry),
      .read_enable(is_take),
      .read_address(matched_slot),
      .read_data(entry)
  );

  ram_sdp #(
      .WIDTH(lake_pkg::TIME_BITS),
      .DEPTH(ENTRIES)
  ) times (
      .clk,
      .write_enable(inserts),
      .write_address(slot_offered),
      .write_data(now),
      .read_enable(1'b1),
      .read_address(sweep_next),
      .read_data(sweep_inserted)
  );

  ram_sdp #(
      .WIDTH(1 + lake_pkg::TIME_BITS),
      .DEPTH(MARKS)
  ) marks (
      .clk,
      .write_enable(mark_write),
      .write_address(clearing ? mark_walk : mark_sweep_step ? mark_swept : compare_mark),
      .write_data(clearing || mark_sweep_step ? '0 : {1'b1, now}),
      .read_enable(accept || mark_sweep),
      .read_address(accept ? mark_hash(s_request.tag) : mark_walk),
      .read_data(mark)
  );

  always_comb begin
    s_response.hit       = response_hit;
    s_response.ambiguous = response_ambiguous;
    s_response.slot      = 8'(response_slot);
    s_response.entry     = entry;
    s_response.key       = key;
  end

  always_ff @(posedge clk) begin
    // Stage 1.
    if (accept) begin
      compare_command  <= s_request.command;
      compare_slot     <= s_request.slot[SLOT_BITS-1:0];
      compare_window   <= s_request.window;
      compare_miss_tag <= s_request.tag;
      compare_entry    <= s_request.entry;
      compare_tag      <= s_tag;
      compare_mark     <= mark_hash(s_request.tag);
      for (int slot = 0; slot < ENTRIES; slot++) begin
        equal[slot] <= tags[slot] == s_request.tag;
      end
    end

    // Stage 2.
    if (compare_valid) begin
      response_hit       <= is_insert ? slot_available : is_take && matched;
      response_ambiguous <= is_insert ? matched || marked : is_take && ambiguous[matched_slot];
      response_slot      <= is_insert ? slot_offered : matched_slot;
      s_response_tag     <= compare_tag;
    end

    if (inserts) begin
      tags[slot_offered] <= compare_miss_tag;
    end
    if (free_push) begin
      free_slots[free_tail] <= free_pushed;
    end

    sweep_next      <= sweep_next + SLOT_BITS'(skip) + 1'b1;
    sweep_slot      <= sweep_next;
    sweep_live      <= live[sweep_next];
    mark_swept      <= mark_walk;
    insert_event    <= inserts;
    full_event      <= is_insert && !slot_available;
    ambiguous_event <= is_insert && (matched || marked);
    expire_event    <= expire;

    if (rst) begin
      clearing         <= 1'b1;
      mark_walk        <= '0;
      mark_sweep_step  <= 1'b0;
      compare_valid    <= 1'b0;
      s_response_valid <= 1'b0;
      sweep_next       <= '0;
      live             <= '0;
      held             <= '0;
      ambiguous        <= '0;
      fresh            <= '0;
      free_head        <= '0;
      free_tail        <= '0;
      free_count       <= '0;
      live_entries     <= '0;
    end else begin
      clearing         <= clearing && mark_walk != '1;
      mark_sweep_step  <= mark_sweep;
      compare_valid    <= accept;
      s_response_valid <= is_insert || is_take
          || (compare_valid && compare_command == lake_pkg::MISS_READ_KEY);
      if (clearing || mark_sweep) begin
        mark_walk <= mark_walk + 1'b1;
      end

      if (is_insert || is_mark) begin
        ambiguous <= ambiguous | matching;
      end
      if (inserts) begin
        live[slot_offered]      <= 1'b1;
        ambiguous[slot_offered] <= matched || marked;
        if (!fresh[SLOT_BITS]) begin
          fresh <= fresh + 1'b1;
        end
      end
      if (is_take && matched) begin
        live[matched_slot] <= 1'b0;
        held[matched_slot] <= 1'b1;
      end
      if (expire) begin
        live[sweep_slot] <= 1'b0;
      end
      if (is_release) begin
        held[compare_slot] <= 1'b0;
      end

      free_head  <= free_head + SLOT_BITS'(free_pop);
      free_tail  <= free_tail + SLOT_BITS'(free_push);
      free_count <= free_count + (SLOT_BITS + 1)'(free_push) - (SLOT_BITS + 1)'(free_pop);
      live_entries <= live_entries + 9'(inserts) - 9'(expire) - 9'(is_take && matched);
    end
  end
endmodule
