// The key-value controller (paper, section III-B): one state machine for one frame at a time, in
// both directions. It answers a GET that hits, without the network, and sends every other frame on.
//
// A frame leaves after its work is done: frames leave in the order in which they came, and no later
// GET overtakes an invalidation. A GET with a key of up to 16 bytes that hits has its first word at
// the output 13 cycles after its last word has come, whatever the length of the value.
//
// A frame that is corrupt (frame_check) is sent on, and nothing else.
// Requests (QUERY):
//   GET alone in its datagram   hit: reply. Miss: entry in the miss table, forward.
//   SET alone, storable         as `set_mode` says: store (pending, if writes are safe) or
//                               invalidate; entry in the miss table, forward.
//   any other mutation          invalidate, forward.
//   several operations          invalidate the key of each mutation, forward.
//   malformed, FLUSH            advance the epoch of the group, forward.
// A GET that may not travel (TTL 0) is not answered, and such a SET is not stored.
// Replies (RESPONSE):
//   to a GET that missed        store, if no mutation of the key passed or is unanswered; forward.
//   to a mutation               acknowledge it to the guard table; a pending SET becomes visible.
// Other frames:
//   OPAQUE                      advance the epoch of the group, forward, of any length.
//   ORDERED                     forward, of any length.
//
// Functions of one group share entries. A group has a slice of the table: the place of a key is
// `slice_base | CRC16 & slice_mask`; its upper INDEX_BITS bits are the index, its upper 12 the place
// in the guard table. Epochs, quiet times and delayed flushes are of a group.
module kv_controller #(
    parameter int FUNCTIONS = 1,
    parameter int INDEX_BITS = 16,
    parameter int KEY_BYTES = 64,      // up to 64
    parameter int VALUE_BYTES = 512,   // up to 1,024
    parameter int MISS_ENTRIES = 256
) (
    input  logic                                clk,
    input  logic                                rst,
    output logic                                initialized,  // until then it takes no frame
    output logic                                busy,
    input  logic [31:0]                         skip,         // see miss_table
    output logic                                still,        // of its table of requests

    input  client_cache_pkg::settings_t         settings,
    input  logic [memcached_pkg::NOW_BITS-1:0]  now,
    input  logic [memcached_pkg::TIME_BITS-1:0] passed,         // units that end with this cycle
    input  logic [memcached_pkg::TIME_BITS-1:0] lifetime,
    input  logic                                foreign_write,  // pulse: advance all epochs
    input  logic                                clear_flushes,  // pulse: no delayed flush is under way
    input  logic [31:0]                         second,         // see flush_timers
    input  logic [4:0]                          accuracy,
    input  logic                                wall_write,
    input  logic [31:0]                         wall_time,
    input  logic [FUNCTIONS-1:0][client_cache_pkg::FUNCTION_BITS-1:0] groups,  // of the functions
    input  logic [FUNCTIONS-1:0][15:0]          slice_base,     // of the groups
    input  logic [FUNCTIONS-1:0][15:0]          slice_mask,
    input  logic [FUNCTIONS-1:0][8:0]           quota,          // of the functions, in the miss table

    input  logic                                s_valid,
    output logic                                s_ready,
    input  logic [511:0]                        s_data,
    input  logic                                s_last,
    input  net_pkg::meta_t                      s_meta,         // source: the function, one-hot
    input  memcached_pkg::kind_t             s_kind,

    output logic                                m_valid,
    input  logic                                m_ready,
    output logic [511:0]                        m_data,
    output logic                                m_last,
    output net_pkg::meta_t                      m_meta,
    output logic                                m_host,         // to the function, not to the network

    output client_cache_pkg::events_t           events,
    output logic [7:0]                          events_source,  // the function, one-hot
    output logic [FUNCTIONS-1:0][31:0]          epochs,         // of the groups
    output logic [FUNCTIONS-1:0]                quiet,          // no unseen mutation is on its way
    output logic [FUNCTIONS-1:0]                pause,          // of delayed flushes: no hits
    output logic [31:0]                         wall_now,
    output logic [31:0]                         flushes_under_way,
    output logic                                flush_dropped,  // pulses
    output logic                                ignores,        // a malformed request changed nothing
    output logic [8:0]                          miss_live,
    output logic                                miss_full,      // pulses
    output logic                                miss_ambiguous,
    output logic                                miss_expired
);
  typedef enum logic [4:0] {
    RECEIVE, START, OPERATION, DECIDE, KEY, HASH, LOOKUP, COMPARE, GUARD, GUARD_WAIT, STORE,
    HEAD_WRITE, STORED, INSERT, INSERT_WAIT, INSERT_KEY, MARK, NEXT, TAKE, TAKE_WAIT, KEY_READ,
    KEY_READ_WAIT, RELEASE, SUM, REPLY, FORWARD, PASS, TIME
  } state_t;

  // What a frame, or an operation of it, asks of the table.
  typedef enum logic [2:0] {
    PLAN_GET,
    PLAN_SET,
    PLAN_INVALIDATE,
    PLAN_FILL,        // store the reply to a GET
    PLAN_ACKNOWLEDGE  // make a SET visible, or remove it
  } plan_t;

  localparam int GROUP_BITS = FUNCTIONS > 1 ? $clog2(FUNCTIONS) : 1;
  localparam int OWNERS = FUNCTIONS > 1 ? 1 << GROUP_BITS : 1;
  localparam int LINES = (VALUE_BYTES + 63) / 64;
  localparam int LINE_BITS = LINES > 1 ? $clog2(LINES) : 1;
  localparam int FRAME_WORDS = client_cache_pkg::FRAME_WORDS;
  localparam int OFFSET_BITS = $clog2(FRAME_WORDS) + 6;
  localparam int WORD_BITS = OFFSET_BITS - 6;

  state_t state;
  plan_t  plan;

  // ---- the frame -------------------------------------------------------------------------------
  logic [511:0]              head;  // its first word
  net_pkg::meta_t            meta;
  logic                      response;
  logic [GROUP_BITS-1:0]     group;
  logic [client_cache_pkg::FUNCTION_BITS-1:0] source;  // the function
  logic [WORD_BITS:0]        words;         // received so far
  logic [15:0]               payload;       // offset of the first operation
  logic [15:0]               payload_end;
  logic [15:0]               ip_length;
  logic [15:0]               udp_length;
  logic [15:0]               operation_offset;
  logic                      several;       // operations in this datagram
  logic                      next_first;    // the next word begins a frame
  logic                      opaque_frame;  // the frame that passes is OPAQUE
  logic                      verdict_due;   // its last word has passed
  logic                      corrupt;       // the frame whose last word has come
  logic                      stays;         // TTL 0: no router or host need take it
  memcached_pkg::operation_t decoded;
  memcached_pkg::operation_t operation;

  logic                      frame_read;
  logic                      frame_show;
  logic [OFFSET_BITS-1:0]    frame_offset;
  logic [511:0]              frame_window;
  logic                      offered;       // a frame begins
  logic                      receive;
  logic                      passes;        // the frame that is offered is not read
  logic                      passed_last;   // its last word is at the output
  logic                      advance;       // of the output

  // The number of a function that is one-hot.
  function automatic logic [client_cache_pkg::FUNCTION_BITS-1:0] number_of(input logic [7:0] hot);
    number_of = {hot[7:4] != '0, (hot & 8'hcc) != '0, (hot & 8'haa) != '0};
  endfunction

  assign passes     = s_kind == memcached_pkg::KIND_OPAQUE
      || s_kind == memcached_pkg::KIND_ORDERED;
  assign offered    = state == RECEIVE && s_valid && initialized && words == '0;
  assign receive    = state == RECEIVE && s_valid && initialized && !passes;
  assign s_ready    = (state == RECEIVE && initialized && !passes)
      || (state == PASS && advance && !passed_last);
  assign busy       = state != RECEIVE || words != '0;
  assign ip_length  = {head[135:128], head[143:136]};
  assign udp_length = {head[311:304], head[319:312]};
  assign payload    = settings.udp_header ? 16'd50 : 16'd42;

  assign stays      = head[183:176] == 8'd0;

  frame_check #(
      .BYTES(64)
  ) check (
      .clk,
      .take   (s_valid && s_ready),
      .first  (next_first),
      .header (s_data),
      .length (s_meta.length),
      .data   (s_data),
      .corrupt
  );

  function automatic logic header_ok();
    header_ok = ip_length >= payload + 16'd10 && meta.length >= ip_length + 16'd14
        && udp_length + 16'd20 == ip_length
        // A datagram of its own; of a reply, sequence number 0. memcached reads no more of a request's.
        && (!settings.udp_header
            || (head[383:368] == 16'h0100 && (!response || head[367:352] == 16'd0)));
  endfunction

  // Whether a request that cannot be parsed may change items at the server. Datagrams of several
  // parts, and those with nothing behind the frame header, are dropped by memcached. One in the text
  // protocol counts if it has a command that changes items. One with the beginning of a binary
  // request is forgotten. Lengths that do not fit each other are not understood.
  logic text;
  logic text_changes;

  assign text = (settings.udp_header ? head[407:400] : head[343:336]) != 8'h80;

  text_scanner #(
      .BYTES(64)
  ) scanner (
      .clk,
      .take   (receive),
      .first  (words == '0),
      .data   (s_data),
      .payload,
      .changes(text_changes)
  );

  // Wires, since yosys takes a function without arguments for a constant one.
  logic dropped_by_server;
  logic may_change;

  assign dropped_by_server = settings.udp_header
      && (udp_length <= 16'd16 || head[383:368] != 16'h0100);
  always_comb begin
    if (dropped_by_server) may_change = 1'b0;
    else if (text) may_change = text_changes;
    else may_change = udp_length + 16'd20 != ip_length || ip_length >= payload + 16'd10;
  end

  // Ones for the bytes of a window at `offset` that are below `length`.
  function automatic logic [511:0] below(input logic [15:0] length, input logic [15:0] offset);
    logic [15:0] rest;
    rest  = length > offset ? length - offset : 16'd0;
    below = ~(~512'd0 << {rest > 16'd64 ? 7'd64 : rest[6:0], 3'd0});
  endfunction

  // The buffer holds the frame; after a hit the value, from its first byte on.
  logic                 line_write;
  logic [LINE_BITS-1:0] line_written;
  logic [WORD_BITS-1:0] buffer_word;
  logic [511:0]         value_line;

  assign buffer_word = line_write ? WORD_BITS'(line_written) : words[WORD_BITS-1:0];

  window_buffer #(
      .WORDS(FRAME_WORDS),
      .BYTES(64)
  ) frame_buffer (
      .clk,
      .write      ({(receive || line_write) && buffer_word[0],
                    (receive || line_write) && !buffer_word[0]}),
      .write_row  ({2{buffer_word[WORD_BITS-1:1]}}),
      .write_data ({2{line_write ? value_line : s_data}}),
      .read       (frame_read),
      .read_offset(frame_offset),
      .show       (frame_show),
      .window     (frame_window)
  );

  operation_decoder #(
      .MAX_ITEM_BYTES(KEY_BYTES + VALUE_BYTES)
  ) decode (
      .enable   (state == OPERATION),
      .window   (frame_window[255:0]),
      .remaining(payload_end - operation_offset),
      .operation(decoded)
  );

  // ---- key -------------------------------------------------------------------------------------
  logic [15:0]  key_offset;
  logic [7:0]   key_length;
  logic [511:0] key;          // bytes behind its end are 0
  logic [1:0]   key_step;
  logic [7:0]   key_left;     // bytes that are not hashed yet
  logic [15:0]  crc;
  logic [15:0]  crc_next;
  logic [15:0]  key_sum;
  logic [15:0]  place;        // of the key

  assign key_offset = operation_offset + 16'd24 + 16'(operation.extras_length);

  crc16 #(
      .BYTES(16)
  ) key_crc (
      .state(crc),
      .data (key[{key_step, 7'd0}+:128]),
      .bytes(state != HASH ? 5'd0 : key_left >= 8'd16 ? 5'd16 : key_left[4:0]),
      .next (crc_next)
  );

  // ---- epochs ----------------------------------------------------------------------------------
  logic [FUNCTIONS-1:0][memcached_pkg::EPOCH_BITS-1:0] epoch;
  logic [FUNCTIONS-1:0][memcached_pkg::TIME_BITS-1:0]  quiet_left;  // units until `quiet`
  logic                                                own_quiet;
  logic [FUNCTIONS-1:0]                                was_pause;
  logic [FUNCTIONS-1:0]                                timed;  // a flush may go on
  logic [FUNCTIONS-1:0][31:0]                          group_wall;
  logic [FUNCTIONS-1:0]                                wall_known;
  logic [FUNCTIONS-1:0][31:0]                          group_flushes;

  assign own_quiet = quiet[group] && !foreign_write;

  for (genvar i = 0; i < FUNCTIONS; i++) begin : each_group
    logic advances;
    assign advances  = foreign_write || (events.advance_epoch
        && group == GROUP_BITS'(i))
        || (pause[i] && !was_pause[i]);
    assign quiet[i]  = quiet_left[i] == '0 && !pause[i];
    assign epochs[i] = epoch[i][31:0];

    always_ff @(posedge clk) begin
      if (rst) epoch[i] <= '0;
      else if (advances) epoch[i] <= epoch[i] + 1'b1;

      if (rst) quiet_left[i] <= '0;
      // One unit more than the lifetime: the first may be nearly over.
      else if (advances || pause[i]) quiet_left[i] <= lifetime + 1'b1;
      else if (passed != '0) begin
        quiet_left[i] <= quiet_left[i] > passed ? quiet_left[i] - passed : '0;
      end

      was_pause[i] <= pause[i] && !rst;
    end

    flush_timers #(
        .TIMERS(4)
    ) flushes (
        .clk,
        .rst,
        .passed,
        .second,
        .accuracy,
        .wall_write,
        .wall_time,
        .clear     (clear_flushes),
        .s_valid   (state == TIME && group == GROUP_BITS'(i)),
        // Its bytes are in the order of the wire.
        .s_delay   ({operation.flags[7:0], operation.flags[15:8], operation.flags[23:16],
                     operation.flags[31:24]}),
        .s_timed   (timed[i]),
        .pause     (pause[i]),
        .wall_now  (group_wall[i]),
        .wall_known(wall_known[i]),
        .under_way (group_flushes[i])
    );
  end

  assign wall_now = group_wall[0];

  always_comb begin
    flushes_under_way = '0;
    for (int i = 0; i < FUNCTIONS; i++) flushes_under_way += group_flushes[i];
  end

  // ---- table -----------------------------------------------------------------------------------
  client_cache_pkg::head_t    held;       // head of the entry at `place`
  client_cache_pkg::head_t    item;       // it, after COMPARE
  client_cache_pkg::head_t    new_head;
  client_cache_pkg::request_t entry;      // the request of a reply
  logic [8*KEY_BYTES-1:0]     held_key;
  logic                       found;
  logic                       table_initialized;
  logic                       value_read;
  logic [LINE_BITS-1:0]       read_line;
  logic [15:0]                value_offset;
  logic [15:0]                value_length;
  logic [15:0]                value_sum;
  logic [31:0]                server_address;
  logic [15:0]                server_port;
  logic                       store_write;
  logic [LINE_BITS-1:0]       store_line;
  logic [511:0]               store_window;
  logic [memcached_pkg::EPOCH_BITS-1:0] stored_epoch;
  logic [31:0]                store_count;

  kv_table #(
      .INDEX_BITS (INDEX_BITS),
      .KEY_BYTES  (KEY_BYTES),
      .VALUE_BYTES(VALUE_BYTES)
  ) entries (
      .clk,
      .rst,
      .initialized(table_initialized),
      .index      (place[15-:INDEX_BITS]),
      .read       (state == LOOKUP),
      .head       (held),
      .key        (held_key),
      .head_write (state == HEAD_WRITE),
      .key_write  (state == HEAD_WRITE && (plan == PLAN_SET || plan == PLAN_FILL)),
      .head_data  (new_head),
      .key_data   (key[8*KEY_BYTES-1:0]),
      .value_read,
      .read_line,
      .value      (value_line),
      .value_write(store_write),
      .write_line (store_line),
      .value_data (store_window)
  );

  assign value_offset   = key_offset + 16'(operation.key_length);
  assign value_length   = operation.body_length - 16'(operation.extras_length)
      - 16'(operation.key_length);
  assign server_address = response ? head[239:208] : head[271:240];
  assign server_port    = response ? head[287:272] : head[303:288];

  // The entry holds the key, of this group.
  logic same_key;

  assign same_key = held.valid && held.key_length == key_length
      && held_key == key[8*KEY_BYTES-1:0] && held.group == client_cache_pkg::FUNCTION_BITS'(group);

  // It is also of this server.
  function automatic logic same();
    same = same_key && held.server_address == server_address
        && held.server_port == server_port;
  endfunction

  // A value is served if it is visible, of this epoch and not too old.
  function automatic logic usable();
    usable = !held.pending && held.epoch == epoch[group]
        && (settings.max_age == '0 || now - held.stored_time <= settings.max_age);
  endfunction

  // Storing: windows of the frame become lines of the value.
  logic [LINE_BITS:0] store_lines;
  logic [LINE_BITS:0] store_next;   // line to be read next
  logic               store_shown;  // the window of `shown_line` is at hand
  logic [LINE_BITS:0] shown_line;

  assign store_lines = (LINE_BITS + 1)'((value_length + 16'd63) >> 6);

  // ---- guard table -----------------------------------------------------------------------------
  logic                           guard_ready;
  memcached_pkg::guard_request_t  guard_request;
  logic                           guard_response_valid;
  memcached_pkg::guard_response_t guard_response;
  logic                           guard_tag;
  logic [memcached_pkg::VERSION_BITS-1:0] version;
  logic                           acknowledged;

  always_comb begin
    guard_request = '0;
    if (state == GUARD) begin
      guard_request.index    = place[15-:memcached_pkg::GUARD_BITS];
      guard_request.expiring = operation.expiring;
      case (plan)
        PLAN_GET, PLAN_FILL: guard_request.command = memcached_pkg::GUARD_READ;
        PLAN_ACKNOWLEDGE:    guard_request.command = memcached_pkg::GUARD_ACK;
        default:             guard_request.command = memcached_pkg::GUARD_MUTATE;
      endcase
    end
  end

  guard_table #(
      .TAG_BITS(1)
  ) guards (
      .clk,
      .rst,
      .now             (now[memcached_pkg::TIME_BITS-1:0]),
      .lifetime,
      .s_valid         (state == GUARD),
      .s_ready         (guard_ready),
      .s_request       (guard_request),
      .s_tag           (1'b0),
      .s_response_valid(guard_response_valid),
      .s_response      (guard_response),
      .s_response_tag  (guard_tag)
  );

  // What the answer of the guard table allows.
  logic alone;
  logic admits_get;
  logic fill_allowed;
  logic set_visible;

  freshness_rules rules (
      .enable     (state == GUARD_WAIT && guard_response_valid),
      .of_get     (plan == PLAN_GET),
      .fills      (settings.fill),
      .safe_writes(settings.safe_writes),
      .quiet      (own_quiet),
      .status_ok  (operation.status_ok),
      .version    (entry.version),
      .guard      (guard_response),
      .alone,
      .admits_get,
      .fill_allowed,
      .set_visible
  );

  // ---- miss table ------------------------------------------------------------------------------
  logic                         miss_valid;
  logic                         miss_ready;
  memcached_pkg::miss_command_t miss_command;
  client_cache_pkg::tag_t       miss_tag;
  client_cache_pkg::request_t   miss_request;
  logic                         miss_response_valid;
  logic                         miss_hit;
  logic                         miss_is_ambiguous;
  logic [7:0]                   miss_slot;
  logic [7:0]                   slot;
  client_cache_pkg::request_t   miss_entry;
  logic [8*KEY_BYTES-1:0]       miss_key;
  logic                         miss_response_tag;
  logic                         miss_inserted;
  logic [OWNERS-1:0][8:0]       quotas;

  assign quotas     = (9 * OWNERS)'(quota);
  assign miss_valid = state == INSERT || state == INSERT_KEY || state == MARK || state == TAKE
      || state == KEY_READ || state == RELEASE;

  always_comb begin
    miss_tag     = '0;
    miss_request = '0;
    miss_command = memcached_pkg::MISS_INSERT;
    if (miss_valid) begin
      // A request comes from the client, a reply goes to it.
      miss_tag.opcode         = operation.opcode;
      miss_tag.opaque         = operation.opaque;
      miss_tag.client_address = response ? head[271:240] : head[239:208];
      miss_tag.client_port    = response ? head[303:288] : head[287:272];
      miss_tag.server_address = server_address;
      miss_tag.server_port    = server_port;
      miss_tag.source         = source;
      miss_request.kind       = plan == PLAN_GET ? memcached_pkg::REQUEST_GET
          : plan == PLAN_SET ? memcached_pkg::REQUEST_SET : memcached_pkg::REQUEST_MUTATION;
      miss_request.place      = place;
      miss_request.key_length = key_length;
      miss_request.version    = version;
      miss_request.store_id   = store_count;
      case (state)
        INSERT_KEY: miss_command = memcached_pkg::MISS_WRITE_KEY;
        MARK:       miss_command = memcached_pkg::MISS_MARK;
        TAKE:       miss_command = memcached_pkg::MISS_TAKE;
        KEY_READ:   miss_command = memcached_pkg::MISS_READ_KEY;
        RELEASE:    miss_command = memcached_pkg::MISS_RELEASE;
        default:    miss_command = memcached_pkg::MISS_INSERT;
      endcase
    end
  end

  miss_table #(
      .ENTRIES   (MISS_ENTRIES),
      .MARKS     (1024 * OWNERS),
      .TAG_BITS  (1),
      .MATCH_BITS(client_cache_pkg::TAG_BITS),
      .ENTRY_BITS(client_cache_pkg::REQUEST_BITS),
      .KEY_BITS  (8 * KEY_BYTES),
      .WINDOWS   (1),
      .OWNERS    (OWNERS)
  ) misses (
      .clk,
      .rst,
      .now                 (now[memcached_pkg::TIME_BITS-1:0]),
      .lifetime,
      .skip,
      .still,
      .s_valid             (miss_valid),
      .s_ready             (miss_ready),
      .s_command           (miss_command),
      .s_slot              (slot),
      .s_window            (3'd0),
      .s_match             (miss_tag),
      .s_entry             (miss_request),
      .s_key               (key[8*KEY_BYTES-1:0]),
      .s_owner             (source[GROUP_BITS-1:0]),
      .quota               (quotas),
      .s_tag               (1'b0),
      .s_response_valid    (miss_response_valid),
      .s_response_hit      (miss_hit),
      .s_response_ambiguous(miss_is_ambiguous),
      .s_response_slot     (miss_slot),
      .s_response_entry    (miss_entry),
      .s_response_key      (miss_key),
      .s_response_tag      (miss_response_tag),
      .live_entries        (miss_live),
      .insert_event        (miss_inserted),
      .full_event          (miss_full),
      .ambiguous_event     (miss_ambiguous),
      .expire_event        (miss_expired)
  );

  // ---- reply -----------------------------------------------------------------------------------
  logic [767:0] unsummed_head;
  logic [15:0]  reply_length;
  logic [15:0]  reply_limit;   // the value begins here in the frame
  logic [15:0]  head_length;
  logic [7:0]   echoed;        // bytes of the key in the reply
  logic [15:0]  ip_sum;
  logic [15:0]  udp_sum;
  logic [1:0]   sum_step;
  logic [511:0] sum_window;
  logic [15:0]  window_total;

  assign echoed      = operation.echoes_key ? key_length : 8'd0;
  assign reply_limit = head_length + 16'(echoed);

  reply_head build_reply (
      .enable      (state == SUM || state == REPLY),
      .request     (head),
      .udp_header  (settings.udp_header),
      .opcode      (operation.opcode),
      .status      (16'd0),
      .opaque      (operation.opaque),
      .cas         (item.cas),
      .with_flags  (1'b1),
      .flags       (item.flags),
      .key_bytes   (echoed),
      .value_bytes (item.value_length),
      .head        (unsummed_head),
      .head_length,
      .frame_length(reply_length)
  );

  // Key, value and head are summed by one adder.
  always_comb begin
    case (state)
      HASH:    sum_window = key;
      STORE:   sum_window = store_window;
      SUM: begin
        case (sum_step)
          2'd0:    sum_window = {unsummed_head[511:208], 208'd0};  // from the addresses on
          2'd1:    sum_window = {256'd0, unsummed_head[767:512]};
          default: sum_window = {352'd0, unsummed_head[271:112]};  // the header of IPv4
        endcase
      end
      default: sum_window = '0;
    endcase
  end

  window_sum #(
      .BYTES(64)
  ) adder (
      .enable(state == HASH || state == STORE || state == SUM),
      .window(sum_window),
      .sum   (window_total)
  );

  // ---- sending ---------------------------------------------------------------------------------
  logic [WORD_BITS:0] send_word;    // to be read next
  logic [WORD_BITS:0] send_words;
  logic               shown;        // a window to be sent is at hand
  logic [WORD_BITS:0] shown_word;
  logic [511:0]       shown_data;
  logic [15:0]        send_length;
  logic [LINE_BITS:0] item_lines;
  logic [LINE_BITS:0] next_line;

  assign advance     = !m_valid || m_ready;
  assign send_length = state == REPLY ? reply_length : meta.length;
  assign send_words  = (WORD_BITS + 1)'((send_length + 16'd63) >> 6);

  always_comb begin
    shown_data = frame_window;
    if (shown && state == REPLY) begin
      // The head, with checksums, covers a word and the beginning of the second; a key follows.
      case (shown_word)
        (WORD_BITS + 1)'(0): begin
          shown_data          = unsummed_head[511:0];
          shown_data[192+:16] = {~ip_sum[7:0], ~ip_sum[15:8]};
          shown_data[320+:16] = udp_sum == 16'hffff ? 16'hffff : {~udp_sum[7:0], ~udp_sum[15:8]};
        end
        (WORD_BITS + 1)'(1): begin
          shown_data = (frame_window & ~below(reply_limit, 16'd64))
              | {256'd0, unsummed_head[767:512]};
          if (operation.echoes_key) begin
            shown_data = shown_data | (settings.udp_header ? key << 112 : key << 48);
          end
        end
        (WORD_BITS + 1)'(2): begin
          shown_data = frame_window & ~below(reply_limit, 16'd128);
          if (operation.echoes_key) begin
            shown_data = shown_data | (settings.udp_header ? key >> 400 : key >> 464);
          end
        end
        default: ;
      endcase
    end
  end

  // The lines of the value go into the buffer, each before the words that have its bytes.
  assign item_lines = (LINE_BITS + 1)'((item.value_length + 16'd63) >> 6);
  assign value_read = (state == SUM || state == REPLY) && next_line != item_lines;
  assign read_line  = next_line[LINE_BITS-1:0];

  // ---- reads of the buffer ---------------------------------------------------------------------
  assign frame_show = state == OPERATION || state == KEY || store_shown || shown;

  always_comb begin
    frame_read   = 1'b0;
    frame_offset = OFFSET_BITS'(operation_offset);
    case (state)
      START: begin
        frame_read   = 1'b1;
        frame_offset = OFFSET_BITS'(payload);
      end
      NEXT: begin
        frame_read   = 1'b1;
        frame_offset = OFFSET_BITS'(operation_offset + 16'd24 + operation.body_length);
      end
      DECIDE: begin
        frame_read   = 1'b1;
        frame_offset = OFFSET_BITS'(key_offset);
      end
      STORE: begin
        frame_read   = 1'b1;
        frame_offset = OFFSET_BITS'(value_offset + 16'({store_next, 6'd0}));
      end
      REPLY: begin
        frame_read   = advance;
        frame_offset = OFFSET_BITS'(16'({send_word, 6'd0}) - reply_limit);
      end
      FORWARD: begin
        frame_read   = advance;
        frame_offset = OFFSET_BITS'({send_word, 6'd0});
      end
      default: ;
    endcase
  end

  // ---- the new head of an entry ----------------------------------------------------------------
  always_comb begin
    new_head = '0;  // an entry that is invalid
    if (state == HEAD_WRITE) begin
      case (plan)
        PLAN_SET, PLAN_FILL: begin
          new_head.valid          = 1'b1;
          new_head.pending        = plan == PLAN_SET && settings.safe_writes;
          new_head.group          = client_cache_pkg::FUNCTION_BITS'(group);
          new_head.server_address = server_address;
          new_head.server_port    = server_port;
          new_head.key_length     = key_length;
          new_head.value_length   = value_length;
          new_head.value_sum      = value_sum;
          new_head.flags          = operation.flags;
          new_head.cas            = plan == PLAN_FILL ? operation.cas : 64'd0;
          new_head.epoch          = stored_epoch;
          new_head.stored_time    = now;
          new_head.store_id       = store_count;
        end
        PLAN_ACKNOWLEDGE: begin
          if (acknowledged) begin
            new_head         = item;
            new_head.pending = 1'b0;
            new_head.cas     = operation.cas;
          end
        end
        default: ;
      endcase
    end
  end

  // ---- state machine ---------------------------------------------------------------------------
  logic takes;    // a reply that may have an entry in the miss table
  logic inserts;  // a request that gets one
  logic fits;     // the key may be in the table
  assign takes   = decoded.ok && decoded.last && decoded.response && !decoded.quiet
      && (decoded.get || decoded.mutation);
  assign inserts = !several && !operation.quiet;
  assign fits    = operation.key_length <= 8'(KEY_BYTES);

  always_ff @(posedge clk) begin
    events       <= '0;
    verdict_due  <= 1'b0;
    if (s_valid && s_ready) next_first <= s_last;
    events        <= '0;
    ignores       <= 1'b0;
    flush_dropped <= 1'b0;
    line_write   <= value_read;
    line_written <= read_line;
    store_shown  <= 1'b0;
    store_write  <= 1'b0;

    case (state)
      RECEIVE: begin
        passed_last <= 1'b0;
        if (offered) begin
          meta             <= s_meta;
          response         <= s_kind == memcached_pkg::KIND_RESPONSE;
          source           <= number_of(s_meta.source);
          group            <= GROUP_BITS'(groups[GROUP_BITS'(number_of(s_meta.source))]);
          events_source    <= s_meta.source;
          events.query     <= s_kind == memcached_pkg::KIND_QUERY;
          events.response  <= s_kind == memcached_pkg::KIND_RESPONSE;
          events.forwarded <= passes;
          opaque_frame     <= s_kind == memcached_pkg::KIND_OPAQUE;
          if (passes) state <= PASS;
        end
        if (receive) begin
          if (words == '0) head <= s_data;
          words <= words + 1'b1;
          if (s_last) state <= START;
        end
      end

      START: begin
        words            <= '0;
        send_word        <= '0;
        operation_offset <= payload;
        payload_end      <= ip_length + 16'd14;
        several          <= 1'b0;
        crc              <= '0;
        if (corrupt) begin
          events.corrupt <= 1'b1;
          state          <= FORWARD;
        end else if (header_ok() && (response || !text)) begin
          state <= OPERATION;
        end else begin
          events.malformed     <= !response;
          events.advance_epoch <= !response && may_change;
          ignores              <= !response && !may_change;
          state                <= FORWARD;
        end
      end

      OPERATION: begin
        operation  <= decoded;
        key_length <= decoded.key_length;
        key_left   <= decoded.key_length;
        state      <= !response ? DECIDE : takes ? TAKE : FORWARD;
      end

      DECIDE: begin
        several      <= several || !operation.last;
        stored_epoch <= epoch[group];
        if (!operation.ok || operation.response) begin
          events.malformed     <= 1'b1;
          events.advance_epoch <= !operation.refused;
          ignores              <= operation.refused;
          state                <= FORWARD;
        end else begin
          plan <= PLAN_INVALIDATE;
          if (!several && operation.last) begin
            if (operation.get) plan <= PLAN_GET;
            else if (operation.storable && own_quiet && !stays
                     && value_length <= 16'(VALUE_BYTES)
                     && settings.set_mode != client_cache_pkg::SETS_INVALIDATE) plan <= PLAN_SET;
          end
          events.advance_epoch <= operation.flush && !operation.delayed_flush;
          events.delayed_flush <= operation.delayed_flush;
          if (fits && (operation.mutation
                       || (operation.get && !several && operation.last && !stays))) begin
            state <= KEY;
          end else begin
            // A key that is too long for the table is never in it.
            state <= (operation.get || operation.mutation) && !operation.quiet ? MARK
                : operation.delayed_flush ? TIME : NEXT;
          end
        end
      end

      // The server gets no flush whose time is not known here.
      TIME: begin
        flush_dropped <= !timed[group];
        state         <= timed[group] ? NEXT : RECEIVE;
      end

      KEY: begin
        key      <= frame_window & below(16'(key_length), 16'd0);
        key_step <= '0;
        state    <= HASH;
      end

      HASH: begin
        crc      <= crc_next;
        place    <= slice_base[group] | (crc_next & slice_mask[group]);
        key_sum  <= window_total;
        key_step <= key_step + 1'b1;
        key_left <= key_left - 8'd16;
        if (key_left <= 8'd16) state <= LOOKUP;
      end

      LOOKUP: state <= COMPARE;

      COMPARE: begin
        item      <= held;
        sum_step  <= '0;
        next_line <= '0;
        case (plan)
          PLAN_GET: begin
            events.hit  <= same() && usable();
            events.miss <= !(same() && usable());
            if (same() && usable()) state <= SUM;
            else state <= operation.quiet ? FORWARD : GUARD;
          end
          PLAN_ACKNOWLEDGE: begin
            found <= held.valid && held.store_id == entry.store_id
                && entry.kind == memcached_pkg::REQUEST_SET;
            state <= GUARD;
          end
          PLAN_FILL: begin
            found <= held.valid && held.epoch == epoch[group] && !same();  // it will be evicted
            state <= GUARD;
          end
          default: begin
            // Two addresses may be one server's: a mutation through one removes the entry of each.
            found <= same_key;
            if (plan == PLAN_SET && !same()
                && settings.set_mode == client_cache_pkg::SETS_UPDATE) plan <= PLAN_INVALIDATE;
            state <= GUARD;
          end
        endcase
      end

      GUARD: if (guard_ready) state <= GUARD_WAIT;

      GUARD_WAIT: begin
        value_sum  <= '0;
        store_next <= '0;
        if (guard_response_valid) begin
          version      <= guard_response.version;
          // A SET took the epoch of its arrival: a mutation that passed since may be the later one.
          if (response) stored_epoch <= epoch[group];
          acknowledged <= set_visible;
          case (plan)
            // No mutation is on its way, seen or unseen.
            PLAN_GET: state <= admits_get ? INSERT : MARK;
            PLAN_SET: begin
              if (alone) begin
                events.evicted <= item.valid && item.epoch == epoch[group] && !found;
                state          <= store_lines == '0 ? HEAD_WRITE : STORE;
              end else begin
                plan  <= PLAN_INVALIDATE;
                state <= found ? HEAD_WRITE : STORED;
              end
            end
            PLAN_FILL: begin
              events.fill_refused <= !fill_allowed;
              events.evicted      <= fill_allowed && found;
              state <= !fill_allowed ? RELEASE : store_lines == '0 ? HEAD_WRITE : STORE;
            end
            PLAN_ACKNOWLEDGE: state <= found ? HEAD_WRITE : RELEASE;
            default: state <= found ? HEAD_WRITE : STORED;
          endcase
        end
      end

      STORE: begin
        store_shown  <= store_next != store_lines;
        shown_line   <= store_next;
        if (store_next != store_lines) store_next <= store_next + 1'b1;
        store_write  <= store_shown;
        store_line   <= shown_line[LINE_BITS-1:0];
        store_window <= frame_window & below(value_length, 16'({shown_line, 6'd0}));
        if (store_write) begin
          value_sum <= net_pkg::add(value_sum, window_total);
          if ((LINE_BITS + 1)'(store_line) + 1'b1 == store_lines) state <= HEAD_WRITE;
        end
      end

      HEAD_WRITE: begin
        events.stored      <= plan == PLAN_SET;
        events.filled      <= plan == PLAN_FILL;
        events.invalidated <= plan == PLAN_INVALIDATE;
        events.visible     <= plan == PLAN_ACKNOWLEDGE && acknowledged && item.pending;
        state              <= STORED;
      end

      STORED: begin
        if (response) state <= RELEASE;
        else if (inserts) state <= INSERT;
        else state <= operation.quiet ? NEXT : MARK;
      end

      INSERT: if (miss_ready) state <= INSERT_WAIT;

      INSERT_WAIT: begin
        if (miss_response_valid) begin
          slot        <= miss_slot;
          store_count <= store_count + 32'd1;
          state       <= miss_hit && plan == PLAN_GET ? INSERT_KEY : FORWARD;
        end
      end

      INSERT_KEY: if (miss_ready) state <= FORWARD;

      MARK: if (miss_ready) state <= NEXT;

      NEXT: begin
        operation_offset <= operation_offset + 16'd24 + operation.body_length;
        crc              <= '0;
        state <= operation.last || response ? FORWARD : OPERATION;
      end

      TAKE: if (miss_ready) state <= TAKE_WAIT;

      TAKE_WAIT: begin
        if (miss_response_valid) begin
          slot       <= miss_slot;
          entry      <= miss_entry;
          place      <= miss_entry.place;
          key_length <= miss_entry.key_length;
          plan       <= miss_entry.kind == memcached_pkg::REQUEST_GET ? PLAN_FILL
              : PLAN_ACKNOWLEDGE;
          if (!miss_hit) begin
            state <= FORWARD;
          end else if (miss_is_ambiguous) begin
            events.fill_refused <= miss_entry.kind == memcached_pkg::REQUEST_GET;
            state               <= RELEASE;
          end else if (miss_entry.kind != memcached_pkg::REQUEST_GET) begin
            state <= LOOKUP;
          end else begin
            state <= operation.status_ok && operation.extras_length == 8'd4
                && value_length <= 16'(VALUE_BYTES) ? KEY_READ : RELEASE;
          end
        end
      end

      KEY_READ: if (miss_ready) state <= KEY_READ_WAIT;

      KEY_READ_WAIT: begin
        if (miss_response_valid) begin
          key   <= 512'(miss_key);
          state <= LOOKUP;
        end
      end

      // A copy of this reply must not be taken for that to a later request.
      RELEASE: if (miss_ready) state <= settings.single_use ? MARK : FORWARD;

      SUM: begin
        if (value_read) next_line <= next_line + 1'b1;
        sum_step <= sum_step + 2'd1;
        case (sum_step)
          // The pseudo header has the addresses, the protocol and the length.
          2'd0: udp_sum <= net_pkg::add(window_total, net_pkg::add(16'd17, reply_length - 16'd34));
          2'd1: begin
            udp_sum <= net_pkg::add(net_pkg::add(udp_sum, window_total), operation.echoes_key
                ? net_pkg::add(key_sum, net_pkg::swapped(key_length[0], item.value_sum)) : item.value_sum);
          end
          default: begin
            ip_sum <= window_total;
            state  <= REPLY;
          end
        endcase
      end

      REPLY, FORWARD: begin
        if (value_read) next_line <= next_line + 1'b1;
        if (advance) begin
          shown      <= send_word != send_words;
          shown_word <= send_word;
          if (send_word != send_words) send_word <= send_word + 1'b1;
          m_valid    <= shown;
          m_last     <= shown_word + 1'b1 == send_words;
          m_data     <= shown_data;
        end
        m_host        <= state == REPLY || response;
        m_meta        <= meta;
        m_meta.length <= send_length;
        if (m_valid && m_ready && m_last) begin
          m_valid          <= 1'b0;
          shown            <= 1'b0;
          events.forwarded <= state == FORWARD && !response;
          events.replied   <= state == REPLY;
          state            <= RECEIVE;
        end
      end

      PASS: begin
        m_host <= 1'b0;
        m_meta <= meta;
        // The epoch advances when the frame has its turn, behind all frames before it.
        verdict_due <= s_valid && s_ready && s_last;
        if (verdict_due && opaque_frame) begin
          events.corrupt       <= corrupt;
          events.advance_epoch <= !corrupt;
        end
        if (advance) begin
          m_valid     <= s_valid && !passed_last;
          m_data      <= s_data;
          m_last      <= s_last;
          passed_last <= passed_last || (s_valid && s_last);
        end
        if (m_valid && m_ready && m_last) state <= RECEIVE;
      end

      default: state <= RECEIVE;
    endcase

    if (rst) begin
      initialized <= 1'b0;
      state       <= RECEIVE;
      words       <= '0;
      m_valid     <= 1'b0;
      shown       <= 1'b0;
      next_first  <= 1'b1;
      passed_last <= 1'b0;
      events        <= '0;
      ignores       <= 1'b0;
      flush_dropped <= 1'b0;
      store_count <= '0;
    end else if (table_initialized && miss_ready && guard_ready) begin
      initialized <= 1'b1;
    end
  end

  logic unused;
  assign unused = &{1'b0, group_wall, wall_known, held, entry, guard_tag, miss_response_tag, miss_inserted, operation};
endmodule
