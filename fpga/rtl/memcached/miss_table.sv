// Requests that were forwarded to the server, to be found again by its replies.
//
// Paper (LaKe): section II-F: a CAM, "where we query using the opaque value and the source UDP port, and the
// reply is the original query's key". Here a tag holds the opcode and the addresses, too.
// Commands: see memcached_pkg::miss_command_t.
//
// Several owners may share a table: each has at most `quota` slots, and marks of its own. Quotas
// that add up to no more than ENTRIES keep owners from each other's slots.
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
// In a simulation, `skip` further cycles may pass with a cycle in which `still` is high and there is
// no command, as long as `now` is the same in all of them.
//
// Throughput: one command a cycle, but two cycles for INSERT, TAKE and MARK. Latency: two cycles.
// After reset the mark table is cleared, a cycle for each of MARKS, and no command accepted.
module miss_table #(
    parameter int ENTRIES = 256,  // a power of two, up to 256
    parameter int MARKS = 1024,   // a power of two
    parameter int TAG_BITS = 3,   // of the requester; given back with the response
    parameter int MATCH_BITS = 88,   // what finds an entry
    parameter int ENTRY_BITS = 128,  // what is kept with it
    parameter int KEY_BITS = 256,    // of a window of the key
    parameter int WINDOWS = 8,       // of a key; 1 or 8
    parameter int OWNERS = 1,        // a power of two
    localparam int OWNER_BITS = OWNERS > 1 ? $clog2(OWNERS) : 1
) (
    input  logic                           clk,
    input  logic                           rst,
    input  logic [memcached_pkg::TIME_BITS-1:0] now,
    input  logic [memcached_pkg::TIME_BITS-1:0] lifetime,
    input  logic [31:0]                    skip = '0,
    output logic                           still,       // no entry is older than `lifetime`

    input  logic                           s_valid,
    output logic                           s_ready,
    input  memcached_pkg::miss_command_t   s_command,
    input  logic [7:0]                     s_slot,
    input  logic [2:0]                     s_window,
    input  logic [MATCH_BITS-1:0]          s_match,
    input  logic [ENTRY_BITS-1:0]          s_entry,
    input  logic [KEY_BITS-1:0]            s_key,
    input  logic [OWNER_BITS-1:0]          s_owner = '0,
    input  logic [OWNERS-1:0][8:0]         quota = {OWNERS{9'd256}},
    input  logic [TAG_BITS-1:0]            s_tag,
    output logic                           s_response_valid,
    output logic                           s_response_hit,
    output logic                           s_response_ambiguous,
    output logic [7:0]                     s_response_slot,
    output logic [ENTRY_BITS-1:0]          s_response_entry,
    output logic [KEY_BITS-1:0]            s_response_key,
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
  localparam int HASH_BITS = MARK_BITS - (OWNERS > 1 ? OWNER_BITS : 0);
  localparam int WINDOW_SELECT_BITS = WINDOWS > 1 ? 3 : 0;
  localparam int KEY_ADDRESS_BITS = SLOT_BITS + WINDOW_SELECT_BITS;

  typedef struct packed {
    logic                           valid;
    logic [memcached_pkg::TIME_BITS-1:0] inserted;
  } mark_t;

  // The tag, folded by exclusive or; the owner, if there are several, is above.
  function automatic logic [MARK_BITS-1:0] mark_hash(input logic [MATCH_BITS-1:0] tag,
                                                     input logic [OWNER_BITS-1:0] owner);
    logic [MATCH_BITS+HASH_BITS-1:0] rest;
    logic [HASH_BITS-1:0]            folded;
    rest = {{HASH_BITS{1'b0}}, tag};
    folded = '0;
    for (int at = 0; at < MATCH_BITS; at += HASH_BITS) folded ^= rest[at+:HASH_BITS];
    mark_hash = MARK_BITS'({owner, folded});
  endfunction

  function automatic logic [KEY_ADDRESS_BITS-1:0] key_address(input logic [SLOT_BITS-1:0] at,
                                                              input logic [2:0] window);
    logic unused_window;
    key_address = KEY_ADDRESS_BITS'({at, window} >> (3 - WINDOW_SELECT_BITS));
    unused_window = &{1'b0, window};
  endfunction

  // For each bit of a slot's number, a mask of the slots that have it.
  function automatic logic [SLOT_BITS*ENTRIES-1:0] slots_with_bit();
    for (int at = 0; at < SLOT_BITS; at++) begin
      for (int slot = 0; slot < ENTRIES; slot++) slots_with_bit[at*ENTRIES+slot] = slot[at];
    end
  endfunction

  localparam logic [SLOT_BITS*ENTRIES-1:0] SLOTS_WITH_BIT = slots_with_bit();

  function automatic logic older(input logic [memcached_pkg::TIME_BITS-1:0] age,
                                 input logic [memcached_pkg::TIME_BITS-1:0] limit);
    older = age > limit;
  endfunction

  // State of the slots.
  logic [MATCH_BITS-1:0]      tags[ENTRIES];
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
  memcached_pkg::miss_command_t    compare_command;
  logic [SLOT_BITS-1:0]       compare_slot;
  logic [2:0]                 compare_window;
  logic [MATCH_BITS-1:0]      compare_match;
  logic [ENTRY_BITS-1:0]      compare_entry;
  logic [OWNER_BITS-1:0]      compare_owner;
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

  // Sweeps.
  logic [SLOT_BITS-1:0]           sweep_next;
  logic [SLOT_BITS-1:0]           sweep_slot;
  logic                           sweep_live;
  logic [memcached_pkg::TIME_BITS-1:0] sweep_inserted;
  logic                           expire;
  logic [memcached_pkg::TIME_BITS-1:0] pass_oldest;  // of the entries that this pass has seen
  logic [memcached_pkg::TIME_BITS-1:0] oldest;       // no live entry is older
  logic [SLOT_BITS:0]             pass_left;    // entries that this pass has not seen
  logic                           clearing;
  logic [MARK_BITS-1:0]           mark_walk;
  logic                           mark_sweep;
  logic                           mark_sweep_step;
  logic [MARK_BITS-1:0]           mark_swept;
  logic                           mark_write;

  logic accept;
  logic inserts;
  logic within_quota;

  logic unused_bits;
  assign unused_bits = &{1'b0, s_slot, skip, quota, used, s_owner, compare_owner};

  assign exclusive = is_insert || is_take || is_mark;
  assign s_ready = !clearing && !exclusive;
  assign accept = s_valid && s_ready;

  assign is_insert  = compare_valid && compare_command == memcached_pkg::MISS_INSERT;
  assign is_take    = compare_valid && compare_command == memcached_pkg::MISS_TAKE;
  assign is_mark    = compare_valid && compare_command == memcached_pkg::MISS_MARK;
  assign is_release = compare_valid && compare_command == memcached_pkg::MISS_RELEASE;

  assign matching = exclusive ? equal & live : '0;
  assign matched = matching != '0;
  assign marked = mark.valid && !older(now - mark.inserted, lifetime);
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

  assign still = !older(now - oldest, lifetime);

  assign slot_available = (!fresh[SLOT_BITS] || free_count != '0) && within_quota;
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
      .WIDTH(KEY_BITS),
      .DEPTH(ENTRIES << WINDOW_SELECT_BITS)
  ) keys (
      .clk,
      .write_enable(accept && s_command == memcached_pkg::MISS_WRITE_KEY),
      .write_address(key_address(s_slot[SLOT_BITS-1:0], s_window)),
      .write_data(s_key),
      .read_enable(compare_valid && compare_command == memcached_pkg::MISS_READ_KEY),
      .read_address(key_address(compare_slot, compare_window)),
      .read_data(s_response_key)
  );

  ram_sdp #(
      .WIDTH(ENTRY_BITS),
      .DEPTH(ENTRIES)
  ) entries (
      .clk,
      .write_enable(inserts),
      .write_address(slot_offered),
      .write_data(compare_entry),
      .read_enable(is_take),
      .read_address(matched_slot),
      .read_data(s_response_entry)
  );

  ram_sdp #(
      .WIDTH(memcached_pkg::TIME_BITS),
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
      .WIDTH(1 + memcached_pkg::TIME_BITS),
      .DEPTH(MARKS)
  ) marks (
      .clk,
      .write_enable(mark_write),
      .write_address(clearing ? mark_walk : mark_sweep_step ? mark_swept : compare_mark),
      .write_data(clearing || mark_sweep_step ? '0 : {1'b1, now}),
      .read_enable(accept || mark_sweep),
      .read_address(accept ? mark_hash(s_match, s_owner) : mark_walk),
      .read_data(mark)
  );

  assign s_response_hit       = response_hit;
  assign s_response_ambiguous = response_ambiguous;
  assign s_response_slot      = 8'(response_slot);

  // Slots of each owner, live or held. (yosys takes no such array in a generated block.)
  logic [OWNERS-1:0][8:0] used;

  if (OWNERS > 1) begin : shared
    logic [OWNER_BITS-1:0] owners[ENTRIES];
    logic [OWNER_BITS-1:0] freed_owner;

    assign within_quota = used[compare_owner] < quota[compare_owner];
    assign freed_owner  = owners[free_pushed];

    always_ff @(posedge clk) begin
      if (inserts) owners[slot_offered] <= compare_owner;
    end

    for (genvar owner = 0; owner < OWNERS; owner++) begin : each
      always_ff @(posedge clk) begin
        if (rst) used[owner] <= '0;
        else begin
          used[owner] <= used[owner] + 9'(inserts && compare_owner == OWNER_BITS'(owner))
              - 9'(free_push && freed_owner == OWNER_BITS'(owner));
        end
      end
    end
  end else begin : single
    assign within_quota = 1'b1;
    assign used         = '0;
  end

  always_ff @(posedge clk) begin
    // Stage 1.
    if (accept) begin
      compare_command  <= s_command;
      compare_slot     <= s_slot[SLOT_BITS-1:0];
      compare_window   <= s_window;
      compare_match    <= s_match;
      compare_entry    <= s_entry;
      compare_owner    <= s_owner;
      compare_tag      <= s_tag;
      compare_mark     <= mark_hash(s_match, s_owner);
      for (int slot = 0; slot < ENTRIES; slot++) begin
        equal[slot] <= tags[slot] == s_match;
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
      tags[slot_offered] <= compare_match;
    end
    if (free_push) begin
      free_slots[free_tail] <= free_pushed;
    end

    // The oldest entry of a whole pass. Entries of later cycles are younger than its beginning. The
    // first two cycles of a pass see entries of the last one.
    if (rst || skip != '0 || pass_left == '0) begin
      pass_left   <= (SLOT_BITS + 1)'(ENTRIES) + 1'b1;
      pass_oldest <= now;
    end else begin
      pass_left <= pass_left - 1'b1;
      if (sweep_live && now - sweep_inserted > now - pass_oldest) pass_oldest <= sweep_inserted;
    end
    if (rst || live_entries == '0) oldest <= now;
    else if (skip == '0 && pass_left == '0) oldest <= pass_oldest;

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
          || (compare_valid && compare_command == memcached_pkg::MISS_READ_KEY);
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
