// A processing element of LaKe (paper, sections II-C to II-F, figure 4): it takes one frame at a
// time, does what the cache has to do, and sends the frame on or the reply back.
//
// A frame leaves after its work is done, so no later read can overtake an invalidation. Operations
// on one bucket of the hash table are ordered by the scoreboard. A GET of a 4-byte key that hits
// the shared caches takes about 35 cycles.
//
// What is combinational is computed in the states that use it, by a function or with 0 in all other
// states, so that a simulation skips most of it.
//
// A frame that is corrupt is sent on, and nothing else.
// Requests from the network:
//   GET alone in its datagram   hit: reply. Miss: entry in the miss table, forward.
//   SET alone, storable         store (pending, if writes are safe), entry in the miss table, forward.
//   any other mutation          invalidate, forward.
//   several operations          invalidate the key of each mutation, forward.
//   malformed, FLUSH            advance the epoch, forward.
// A GET is answered only if it goes to the MAC address of its server and may travel (TTL); a SET is
// stored only if it does.
// Replies from the host:
//   to a GET that missed        store, if no mutation of the key passed or is unanswered; forward.
//   to a mutation               acknowledge it to the guard table; a pending SET becomes visible.
module lake_pe #(
    parameter int FRAME_WORDS = 64  // 32 bytes each
) (
    input  logic                            clk,
    input  logic                            rst,
    input  logic [3:0]                      id,  // constant; differs between PEs

    input  lake_pkg::settings_t             settings,
    input  logic [memcached_pkg::NOW_BITS-1:0]   now,
    input  logic [memcached_pkg::NOW_BITS-1:0]   epoch_start,  // what was stored before is invalid
    input  logic                            quiet,  // no unseen mutation can still be on its way
    output lake_pkg::events_t               events,
    output logic                            ignores,  // pulse: a malformed request changed nothing

    output logic                            flush_valid,    // a delayed flush, until `flush_granted`
    output logic [31:0]                     flush_delay,    // seconds
    input  logic                            flush_granted,
    input  logic                            flush_timed,    // it may go on

    input  logic                            s_valid,
    output logic                            s_ready,
    input  logic [255:0]                    s_data,
    input  logic                            s_last,
    input  net_pkg::meta_t                  s_meta,
    input  logic                            s_response,  // the frame comes from the host
    input  logic                            s_corrupt,   // with the last word: see frame_check
    input  logic                            server_known, // after the last word: see server_addresses
    input  logic                            server_mac,

    output logic                            m_valid,
    input  logic                            m_ready,
    output logic [255:0]                    m_data,
    output logic                            m_last,
    output net_pkg::meta_t                  m_meta,

    output logic                            declare_valid,  // until `finish`
    output logic                            declare_all,
    output logic                            declare_read,
    output logic [lake_pkg::ADDRESS_BITS-1:0] declare_bucket,
    input  logic                            granted,
    output logic                            finish,

    output logic                            hash_valid,
    input  logic                            hash_ready,
    output lake_pkg::line_request_t         hash_request,
    input  logic                            hash_response_valid,
    input  logic [lake_pkg::LINE_BITS-1:0]  hash_response,

    output logic                            data_valid,
    input  logic                            data_ready,
    output lake_pkg::line_request_t         data_request,
    input  logic                            data_response_valid,
    input  logic [lake_pkg::LINE_BITS-1:0]  data_response,

    output logic                            slab_valid,
    input  logic                            slab_ready,
    output lake_pkg::slab_request_t         slab_request,
    input  logic                            slab_response_valid,
    input  lake_pkg::slab_response_t        slab_response,

    output logic                            guard_valid,
    input  logic                            guard_ready,
    output memcached_pkg::guard_request_t        guard_request,
    input  logic                            guard_response_valid,
    input  memcached_pkg::guard_response_t       guard_response,

    output logic                            miss_valid,
    input  logic                            miss_ready,
    output lake_pkg::miss_request_t         miss_request,
    input  logic                            miss_response_valid,
    input  lake_pkg::miss_response_t        miss_response
);
  typedef enum logic [5:0] {
    RECEIVE, START, OPERATION, DECIDE, KEY_LATCH, KEY_CRC, KEY_FETCH, DECLARE,
    GUARD, GUARD_WAIT, BUCKET, BUCKET_WAIT, SEARCH, LINE, LINE_WAIT, COMPARE, FOUND,
    FREE, SLOT, ALLOCATE, ALLOCATE_WAIT, WINDOW, WINDOW_LATCH, LINE_WRITE, HEADER_WRITE,
    BUCKET_WRITE, STORED, INSERT, INSERT_WAIT, INSERT_KEY, MARK, NEXT,
    TAKE, TAKE_WAIT, KEY_READ, KEY_READ_WAIT, RELEASE, SUM, REPLY, FORWARD, TIME, DISCARD
  } state_t;

  // What a frame, or an operation of it, asks of the hash table.
  typedef enum logic [2:0] {
    PLAN_GET,
    PLAN_SET,
    PLAN_INVALIDATE,
    PLAN_FILL,        // store the reply to a GET
    PLAN_ACKNOWLEDGE  // make a SET visible, or remove it
  } plan_t;

  localparam int OFFSET_BITS = $clog2(FRAME_WORDS) + 5;

  state_t state;
  plan_t  plan;

  // ---- the frame -------------------------------------------------------------------------------
  logic [511:0]            head;  // its first 64 bytes
  net_pkg::meta_t          meta;
  logic                    response;
  logic                    corrupt;
  logic                    foreign;       // not to the MAC address of its server, or with TTL 0
  logic                    known;         // its server has sent a reply
  lake_pkg::server_t       server;        // of a request or a reply
  logic [OFFSET_BITS-5:0]  words;         // received so far
  logic [15:0]             payload;       // offset of the first operation
  logic [15:0]             payload_end;
  logic [15:0]             ip_length;
  logic [15:0]             udp_length;
  logic [15:0]             operation_offset;
  logic                    several;       // operations in this datagram
  memcached_pkg::operation_t    decoded;
  memcached_pkg::operation_t    operation;

  logic                    frame_read;
  logic                    frame_show;
  logic [OFFSET_BITS-1:0]  frame_offset;
  logic [255:0]            frame_window;
  logic                    receive;

  assign s_ready    = state == RECEIVE;
  assign receive    = s_ready && s_valid;
  assign ip_length  = {head[135:128], head[143:136]};
  assign udp_length = {head[311:304], head[319:312]};
  assign payload    = settings.udp_header ? 16'd50 : 16'd42;
  assign server     = response ? {head[239:208], head[287:272]} : {head[271:240], head[303:288]};

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
      .BYTES(32)
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

  assign frame_show = state == OPERATION || state == KEY_LATCH || state == WINDOW_LATCH
      || (state == FORWARD && m_valid);

  window_buffer #(.WORDS(FRAME_WORDS)) frame_buffer (
      .clk,
      .write      ({receive && words[0], receive && !words[0]}),
      .write_row  ({2{words[OFFSET_BITS-6:1]}}),
      .write_data ({2{s_data}}),
      .read       (frame_read),
      .read_offset(frame_offset),
      .show       (frame_show),
      .window     (frame_window)
  );

  operation_decoder #(
      .MAX_ITEM_BYTES(lake_pkg::MAX_ITEM_BYTES)
  ) decode (
      .enable   (state == OPERATION),
      .window   (frame_window),
      .remaining(payload_end - operation_offset),
      .operation(decoded)
  );

  // ---- key -------------------------------------------------------------------------------------
  logic [15:0]         key_offset;
  logic [7:0]          key_length;
  logic [2:0]          key_window;     // which window of the key is at hand
  logic [2:0]          key_windows;    // number of its last window
  logic [255:0]        key_ram [8];
  logic                key_write;
  logic [255:0]        key_rest;       // bytes of this window that are not hashed yet
  logic [7:0]          key_left;       // bytes of the key that are not hashed yet
  logic [1:0]          key_step;
  logic [31:0]         crc;
  logic [31:0]         crc_next;
  logic [31:0]         hash;
  logic [15:0]         key_sum;
  logic [lake_pkg::ADDRESS_BITS-1:0] bucket_index;

  assign key_offset   = operation_offset + 16'd24 + 16'(operation.extras_length);
  assign key_windows  = 3'((key_length - 8'd1) >> 5);
  assign bucket_index = hash[lake_pkg::ADDRESS_BITS-1:0] & settings.bucket_mask;

  crc32 key_crc (
      .state(crc),
      .data (key_rest[63:0]),
      .bytes(state != KEY_CRC ? 4'd0 : key_left >= 8'd8 ? 4'd8 : key_left[3:0]),
      .next (crc_next)
  );

  // The key's RAM is filled from the frame of a request, or from the miss table.
  assign key_write = state == KEY_LATCH || (state == KEY_READ_WAIT && miss_response_valid);

  always_ff @(posedge clk) begin
    if (key_write) key_ram[key_window] <= state == KEY_LATCH ? frame_window : miss_response.key;
  end

  // Ones for the bytes of a window at `offset` that are below `length`.
  function automatic logic [255:0] below(input logic [15:0] length, input logic [15:0] offset);
    logic [15:0] rest;
    rest  = length > offset ? length - offset : 16'd0;
    below = ~(~256'd0 << {rest > 16'd32 ? 6'd32 : rest[5:0], 3'd0});
  endfunction

  // ---- hash table ------------------------------------------------------------------------------
  logic [lake_pkg::LINE_BITS-1:0]     bucket;      // eight descriptors
  lake_pkg::descriptor_t              probed;      // the descriptor of `way`
  lake_pkg::descriptor_t              held;
  logic [7:0]                         candidates;  // ways that may hold the key
  logic [7:0]                         invalid_ways;
  logic [7:0]                         class_ways;  // ways whose chunk has the size that is needed
  logic [2:0]                         way;
  logic [2:0]                         victim;
  logic                               found;
  logic                               freed;       // an entry of the key is gone
  logic                               storing;     // a chunk is to be written
  logic [memcached_pkg::VERSION_BITS-1:0]  version;     // of the key, when the request passed
  lake_pkg::miss_entry_t              entry;
  logic [7:0]                         slot;
  logic [memcached_pkg::NOW_BITS-1:0]      stored_time;
  logic                               acknowledged;  // the SET may become visible

  always_comb begin
    probed = '0;
    if (state == LINE || state == COMPARE || state == FOUND || state == FREE) begin
      probed = bucket[{way, 6'd0}+:64];
    end
  end

  function automatic logic may_hold(input lake_pkg::descriptor_t arrived);
    logic unused;
    may_hold = arrived.valid && (plan == PLAN_ACKNOWLEDGE
        ? arrived.chunk == entry.chunk
        : arrived.key_length == key_length
            && arrived.signature == hash[31:16]);
    unused = &{1'b0, arrived};
  endfunction

  // Ways of a bucket that may hold the key.
  function automatic logic [7:0] matching(input logic [lake_pkg::LINE_BITS-1:0] line);
    for (int each = 0; each < 8; each++) matching[each] = may_hold(line[64*each+:64]);
  endfunction

  always_comb begin
    held         = '0;
    invalid_ways = '0;
    class_ways   = '0;
    if (state == SLOT || state == ALLOCATE_WAIT) begin
      for (int each = 0; each < 8; each++) begin
        held               = bucket[64*each+:64];
        invalid_ways[each] = !held.valid;
        class_ways[each]   = held.valid && held.chunk_class == needed;
      end
    end
  end

  function automatic logic [2:0] lowest(input logic [7:0] bits);
    lowest = 3'd0;
    for (int i = 7; i >= 0; i--) begin
      if (bits[i]) lowest = 3'(i);
    end
  endfunction

  // ---- chunk -----------------------------------------------------------------------------------
  lake_pkg::chunk_header_t  item;          // header of the chunk that was read
  lake_pkg::chunk_header_t  new_header;
  logic [255:0]             first_window;  // beside the header in the first line
  logic [255:0]             low_window;
  logic [255:0]             merged;
  logic [255:0]             merged_line;
  logic [255:0]             value_window;
  logic [15:0]              window_total;
  logic [15:0]              value_sum;
  logic [3:0]               line_index;
  logic [3:0]               lines_wanted;  // number of the last line to be read
  logic                     same;          // the lines so far hold the key
  logic [3:0]               store_window;
  logic [3:0]               last_window;
  logic [15:0]              item_length;
  logic [15:0]              value_length;
  logic [15:0]              value_offset;
  lake_pkg::chunk_class_t   needed;
  logic [lake_pkg::ADDRESS_BITS-1:0] chunk;

  assign value_offset = key_offset + 16'(operation.key_length);
  assign value_length = operation.body_length - 16'(operation.extras_length)
      - 16'(operation.key_length);
  assign item_length  = 16'(key_length) + value_length;
  assign last_window  = 4'((item_length - 16'd1) >> 5);

  always_comb begin
    if (item_length <= 16'd32) needed = lake_pkg::CHUNK_64;
    else if (item_length <= 16'd96) needed = lake_pkg::CHUNK_128;
    else if (item_length <= 16'd224) needed = lake_pkg::CHUNK_256;
    else needed = lake_pkg::CHUNK_512;
  end

  // A chunk is served if it is visible, of this epoch and not too old. The MAC address of a server is
  // known when it has acknowledged something; early writes do not wait for that.
  function automatic logic usable();
    usable = (known || !settings.safe_writes) && !probed.pending && item.stored_time >= epoch_start
        && (settings.max_age == '0 || now - item.stored_time <= settings.max_age);
  endfunction

  // The lines of a chunk hold, behind the header, windows of key and value: line n holds the
  // windows 2n - 1 and 2n.
  function automatic logic equal(input logic [3:0] index);
    equal = ((data_response[511:256] ^ key_ram[3'({index, 1'b0})])
            & below(16'(key_length), {6'd0, index, 6'd0})) == '0
        && (index == 4'd0
            || ((data_response[255:0] ^ key_ram[3'({index, 1'b0} - 5'd1)])
                & below(16'(key_length), {6'd0, index, 6'd0} - 16'd32)) == '0);
  endfunction

  logic                item_write;
  logic                item_read;
  logic [8:0]          item_offset;
  logic [255:0]        item_window;

  assign item_write = state == LINE_WAIT && data_response_valid;

  // It holds the lines as they are: the first of its words is the header.
  window_buffer #(.WORDS(16)) item_buffer (
      .clk,
      .write      ({2{item_write}}),
      .write_row  ({2{line_index[2:0]}}),
      .write_data (data_response),
      .read       (item_read),
      .read_offset(item_offset),
      .show       (state == REPLY && m_valid),
      .window     (item_window)
  );

  // Window `store_window` of the item that is to be stored: the key from its RAM, the value from
  // the frame.
  always_comb begin
    value_window = '0;
    merged       = '0;
    if (state == WINDOW_LATCH) begin
      value_window = frame_window & below(item_length, {7'd0, store_window, 5'd0})
          & ~below(16'(key_length), {7'd0, store_window, 5'd0});
      merged = value_window
          | (key_ram[store_window[2:0]] & below(16'(key_length), {7'd0, store_window, 5'd0}));
    end
  end

  // ---- reply -----------------------------------------------------------------------------------
  logic [767:0] unsummed_head;
  logic [15:0]  reply_length;
  logic [15:0]  reply_body;
  logic [15:0]  head_length;
  logic [15:0]  ip_sum;
  logic [15:0]  udp_sum;
  logic [1:0]   sum_step;
  logic [255:0] sum_window;

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
      .key_bytes   (operation.echoes_key ? key_length : 8'd0),
      .value_bytes (item.value_length),
      .head        (unsummed_head),
      .head_length,
      .frame_length(reply_length)
  );

  // The body of the reply begins here in the item.
  assign reply_body = operation.echoes_key ? 16'd0 : 16'(key_length);

  // The windows of key, value and head are summed by one adder.
  logic summing;
  assign summing = state == KEY_LATCH || state == WINDOW_LATCH || state == SUM;

  always_comb begin
    case (state)
      KEY_LATCH:    sum_window = frame_window & below(16'(key_length), {8'd0, key_window, 5'd0});
      WINDOW_LATCH: sum_window = value_window;
      SUM: begin
        case (sum_step)
          2'd0:    sum_window = {unsummed_head[255:208], 208'd0};  // addresses
          2'd1:    sum_window = unsummed_head[511:256];
          2'd2:    sum_window = unsummed_head[767:512];
          default: sum_window = {96'd0, unsummed_head[271:112]};   // the header of IPv4
        endcase
      end
      default: sum_window = '0;
    endcase
  end

  window_sum adder (
      .enable(summing),
      .window(sum_window),
      .sum   (window_total)
  );

  // ---- sending ---------------------------------------------------------------------------------
  logic                   sending;
  logic                   advance;
  logic [OFFSET_BITS-5:0] send_word;    // to be read next
  logic [OFFSET_BITS-5:0] send_words;
  logic [OFFSET_BITS-5:0] shown_word;   // at the output

  assign sending    = state == REPLY || state == FORWARD;
  assign advance    = sending && (!m_valid || m_ready);
  assign send_words = (OFFSET_BITS-4)'((m_meta.length + 16'd31) >> 5);

  always_comb begin
    m_data = frame_window;
    if (m_valid && state == REPLY) begin
      // The head, with checksums, covers two words and the beginning of the third.
      case (shown_word)
        (OFFSET_BITS - 4)'(0): begin
          m_data          = unsummed_head[255:0];
          m_data[192+:16] = {~ip_sum[7:0], ~ip_sum[15:8]};
        end
        (OFFSET_BITS - 4)'(1): begin
          m_data         = unsummed_head[511:256];
          m_data[64+:16] = udp_sum == 16'hffff ? 16'hffff : {~udp_sum[7:0], ~udp_sum[15:8]};
        end
        (OFFSET_BITS - 4)'(2): begin
          m_data = (item_window & ~below(head_length, 16'd64))
              | (unsummed_head[767:512] & below(head_length, 16'd64));
        end
        default: m_data = item_window;
      endcase
    end
  end

  always_comb begin
    m_meta = meta;
    if (state == REPLY) begin
      m_meta.length      = reply_length;
      m_meta.source      = '0;
      m_meta.destination = meta.source;
    end
  end

  // ---- requests --------------------------------------------------------------------------------
  assign hash_valid = state == BUCKET || state == BUCKET_WRITE;
  always_comb begin
    hash_request = '0;
    if (hash_valid) begin
      hash_request.write   = state == BUCKET_WRITE;
      hash_request.address = bucket_index;
      if (state == BUCKET_WRITE) hash_request.data = bucket;
    end
  end

  logic [3:0] store_line;
  assign store_line = (store_window + 4'd1) >> 1;

  assign data_valid = state == LINE || state == LINE_WRITE || state == HEADER_WRITE;
  always_comb begin
    data_request = '0;
    case (state)
      LINE: data_request.address = probed.chunk + 30'(line_index);
      LINE_WRITE: begin
        data_request.write   = 1'b1;
        data_request.address = chunk + 30'(store_line);
        data_request.data    = {store_window[0] ? 256'd0 : merged_line, low_window};
      end
      HEADER_WRITE: begin
        data_request.write   = 1'b1;
        data_request.address = chunk;
        data_request.data    = {first_window, new_header};
      end
      default: ;
    endcase
  end

  assign slab_valid = state == FREE || state == ALLOCATE;
  always_comb begin
    slab_request = '0;
    if (slab_valid) begin
      slab_request.free        = state == FREE;
      slab_request.chunk_class = state == FREE ? probed.chunk_class : needed;
      slab_request.chunk       = probed.chunk;
    end
  end

  assign guard_valid = state == GUARD;
  always_comb begin
    guard_request = '0;
    if (guard_valid) begin
      guard_request.index    = hash[31-:memcached_pkg::GUARD_BITS];
      guard_request.expiring = operation.expiring;
      case (plan)
        PLAN_GET, PLAN_FILL: guard_request.command = memcached_pkg::GUARD_READ;
        PLAN_ACKNOWLEDGE:    guard_request.command = memcached_pkg::GUARD_ACK;
        default:             guard_request.command = memcached_pkg::GUARD_MUTATE;
      endcase
    end
  end

  logic [27:0] store_count;
  assign miss_valid = state == INSERT || state == INSERT_KEY || state == MARK || state == TAKE
      || state == KEY_READ || state == RELEASE;
  always_comb begin
    miss_request = '0;
    if (miss_valid) begin
      miss_request.slot    = slot;
      miss_request.window  = key_window;
      miss_request.key     = key_ram[key_window];
      // A request comes from the client, a reply goes to it.
      miss_request.tag.opcode         = operation.opcode;
      miss_request.tag.opaque         = operation.opaque;
      miss_request.tag.client_address = response ? head[271:240] : head[239:208];
      miss_request.tag.client_port    = response ? head[303:288] : head[287:272];
      miss_request.tag.server         = server;
      miss_request.entry.kind       = plan == PLAN_GET ? memcached_pkg::REQUEST_GET
          : plan == PLAN_SET ? memcached_pkg::REQUEST_SET : memcached_pkg::REQUEST_MUTATION;
      miss_request.entry.hash       = hash;
      miss_request.entry.key_length = key_length;
      miss_request.entry.version    = version;
      miss_request.entry.store_id   = {id, store_count};
      miss_request.entry.chunk      = chunk;
      case (state)
        INSERT_KEY: miss_request.command = memcached_pkg::MISS_WRITE_KEY;
        MARK:       miss_request.command = memcached_pkg::MISS_MARK;
        TAKE:       miss_request.command = memcached_pkg::MISS_TAKE;
        KEY_READ:   miss_request.command = memcached_pkg::MISS_READ_KEY;
        RELEASE:    miss_request.command = memcached_pkg::MISS_RELEASE;
        default:    miss_request.command = memcached_pkg::MISS_INSERT;
      endcase
    end
  end

  assign flush_valid = state == TIME;
  assign flush_delay = {
    operation.flags[7:0], operation.flags[15:8], operation.flags[23:16], operation.flags[31:24]
  };

  assign declare_bucket = bucket_index;
  assign declare_read   = plan == PLAN_GET;

  // ---- reads of the buffers --------------------------------------------------------------------
  always_comb begin
    frame_read   = 1'b0;
    frame_offset = OFFSET_BITS'(operation_offset);
    item_read    = 1'b0;
    item_offset  = '0;
    case (state)
      START: begin
        frame_read   = 1'b1;
        frame_offset = OFFSET_BITS'(payload);
      end
      NEXT: begin
        frame_read   = 1'b1;
        frame_offset = OFFSET_BITS'(operation_offset + 16'd24 + operation.body_length);
      end
      DECIDE, KEY_FETCH: begin
        frame_read   = 1'b1;
        frame_offset = OFFSET_BITS'(key_offset + {8'd0, key_window, 5'd0});
      end
      WINDOW: begin
        frame_read   = 1'b1;
        frame_offset = OFFSET_BITS'(value_offset + {7'd0, store_window, 5'd0} - 16'(key_length));
      end
      REPLY: begin
        item_read   = advance;
        // The item is behind the header of 32 bytes.
        item_offset = 9'(reply_body + 16'd32 + {6'd0, send_word[4:0], 5'd0} - head_length);
      end
      FORWARD: begin
        frame_read   = advance;
        frame_offset = OFFSET_BITS'({send_word, 5'd0});
      end
      default: ;
    endcase
  end

  logic        takes;         // a reply that may have an entry in the miss table
  logic        inserts;       // a request that gets one
  logic        of_server;     // the item at hand counts for a frame of this server
  assign takes = decoded.ok && decoded.last && !decoded.quiet && (decoded.get || decoded.mutation);
  assign inserts = !several && !operation.quiet;
  // Two addresses may be one server's: a mutation through one of them removes the items of all.
  assign of_server = item.server == server || plan == PLAN_SET || plan == PLAN_INVALIDATE;

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
      .quiet      (quiet),
      .status_ok  (operation.status_ok),
      .version    (entry.version),
      .guard      (guard_response),
      .alone,
      .admits_get,
      .fill_allowed,
      .set_visible
  );

  lake_pkg::descriptor_t leaving;    // the descriptor of `victim`
  lake_pkg::descriptor_t reused;     // one whose chunk has the size that is needed
  lake_pkg::descriptor_t now_visible;
  always_comb begin
    leaving             = '0;
    reused              = '0;
    now_visible         = probed;
    now_visible.pending = 1'b0;
    if (state == SLOT) leaving = bucket[{victim, 6'd0}+:64];
    if (state == ALLOCATE_WAIT) reused = bucket[{lowest(class_ways), 6'd0}+:64];
  end

  lake_pkg::descriptor_t new_descriptor;
  always_comb begin
    new_descriptor = '0;
    if (state == HEADER_WRITE) begin
      new_descriptor.valid       = 1'b1;
      new_descriptor.pending     = plan == PLAN_SET && settings.safe_writes;
      new_descriptor.chunk_class = needed;
      new_descriptor.key_length  = key_length;
      new_descriptor.signature   = hash[31:16];
      new_descriptor.chunk       = chunk;
    end
  end

  always_comb begin
    new_header = '0;
    if (state == HEADER_WRITE) begin
      new_header = item;
      if (plan == PLAN_ACKNOWLEDGE) begin
        new_header.cas = operation.cas;
      end else begin
        new_header.value_length = value_length;
        new_header.flags        = operation.flags;
        new_header.cas          = plan == PLAN_FILL ? operation.cas : 64'd0;
        new_header.stored_time  = stored_time;
        new_header.server       = server;
        new_header.store_id     = {id, store_count};
        new_header.value_sum    = net_pkg::swapped(key_length[0], value_sum);
      end
    end
  end

  always_ff @(posedge clk) begin
    events  <= '0;
    ignores <= 1'b0;
    finish  <= 1'b0;

    case (state)
      RECEIVE: begin
        if (receive) begin
          if (words == 0) head[255:0] <= s_data;
          if (words == 1) head[511:256] <= s_data;
          meta     <= s_meta;
          response <= s_response;
          corrupt  <= s_corrupt;
          words    <= words + 1'b1;
          if (s_last) state <= START;
        end
      end

      START: begin
        words            <= '0;
        send_word        <= '0;
        operation_offset <= payload;
        payload_end      <= ip_length + 16'd14;
        several          <= 1'b0;
        declare_all      <= 1'b0;
        key_window       <= '0;
        key_sum          <= '0;
        crc              <= '1;
        known            <= server_known;
        foreign          <= (server_known && !server_mac) || head[183:176] == 8'd0;
        if (corrupt) begin
          state <= FORWARD;
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
        state      <= DECIDE;
        if (response) begin
          state <= takes && operation_offset == payload && decoded.response ? TAKE : FORWARD;
        end
      end

      DECIDE: begin
        several     <= several || !operation.last;
        stored_time <= now;
        if (!operation.ok || operation.response) begin
          events.malformed     <= 1'b1;
          events.advance_epoch <= !operation.refused;
          ignores              <= operation.refused;
          state                <= FORWARD;
        end else begin
          plan <= PLAN_INVALIDATE;
          if (!several && operation.last) begin
            if (operation.get) plan <= PLAN_GET;
            else if (operation.storable && quiet && !foreign) plan <= PLAN_SET;
          end
          events.advance_epoch <= operation.flush && !operation.delayed_flush;
          events.delayed_flush <= operation.delayed_flush;
          if (operation.mutation || (operation.get && !several && operation.last && !foreign)) begin
            state <= KEY_LATCH;
          end else if (operation.get && !operation.quiet) begin
            state <= MARK;
          end else begin
            state <= operation.delayed_flush ? TIME : NEXT;
          end
        end
      end

      // The server gets no flush whose time is not known here.
      TIME: if (flush_granted) state <= flush_timed ? NEXT : DISCARD;

      DISCARD: begin
        declare_valid <= 1'b0;
        finish        <= 1'b1;
        state         <= RECEIVE;
      end

      KEY_FETCH: state <= KEY_LATCH;

      KEY_LATCH: begin
        key_rest <= frame_window;
        key_sum  <= net_pkg::add(key_sum, window_total);
        key_step <= '0;
        state    <= KEY_CRC;
      end

      KEY_CRC: begin
        crc      <= crc_next;
        hash     <= ~crc_next;
        key_rest <= key_rest >> 64;
        key_step <= key_step + 1'b1;
        key_left <= key_left - 8'd8;
        if (key_left <= 8'd8) begin
          key_window <= '0;
          state      <= DECLARE;
        end else if (key_step == 2'd3) begin
          key_window <= key_window + 1'b1;
          state      <= KEY_FETCH;
        end
      end

      DECLARE: begin
        declare_valid <= 1'b1;
        declare_all   <= several;
        if (declare_valid && granted) begin
          state <= plan == PLAN_GET ? BUCKET : GUARD;
        end
      end

      GUARD: if (guard_ready) state <= GUARD_WAIT;

      GUARD_WAIT: begin
        if (guard_response_valid) begin
          version      <= guard_response.version;
          // A SET took the time of its arrival: a mutation that passed since may be the later one.
          if (response) stored_time <= now;
          acknowledged <= set_visible;
          case (plan)
            PLAN_GET: state <= admits_get ? INSERT : MARK;
            PLAN_SET: begin
              if (!alone) plan <= PLAN_INVALIDATE;
              state <= BUCKET;
            end
            PLAN_FILL: begin
              events.fill_refused <= !fill_allowed;
              state               <= fill_allowed ? BUCKET : RELEASE;
            end
            PLAN_ACKNOWLEDGE: begin
              state <= entry.kind == memcached_pkg::REQUEST_SET ? BUCKET
                  : RELEASE;
            end
            default: state <= BUCKET;
          endcase
        end
      end

      BUCKET: if (hash_ready) state <= BUCKET_WAIT;

      BUCKET_WAIT: begin
        storing <= plan == PLAN_SET || plan == PLAN_FILL;
        found   <= 1'b0;
        freed   <= 1'b0;
        if (hash_response_valid) begin
          bucket     <= hash_response;
          candidates <= matching(hash_response);
          state      <= SEARCH;
        end
      end

      SEARCH: begin
        way                        <= lowest(candidates);
        candidates[lowest(candidates)] <= 1'b0;
        line_index                 <= '0;
        same                       <= 1'b1;
        lines_wanted               <= plan == PLAN_ACKNOWLEDGE ? 4'd0
            : 4'((16'(key_length) + 16'd31) >> 6);
        state                      <= candidates == 8'd0 ? FOUND : LINE;
      end

      LINE: if (data_ready) state <= LINE_WAIT;

      LINE_WAIT: begin
        if (data_response_valid) begin
          if (line_index == 4'd0) begin
            item         <= data_response[255:0];
            first_window <= data_response[511:256];
          end
          same  <= same && (equal(line_index) || plan == PLAN_ACKNOWLEDGE);
          state <= COMPARE;
        end
      end

      COMPARE: begin
        if (plan == PLAN_ACKNOWLEDGE ? item.store_id != entry.store_id
            : !(same && of_server)) begin
          state <= SEARCH;
        end else if (line_index != lines_wanted) begin
          line_index <= line_index + 1'b1;
          state      <= LINE;
        end else if (!found && plan == PLAN_GET && usable()) begin
          // The key is there: read the rest of the value.
          found        <= 1'b1;
          lines_wanted <= 4'((16'(key_length) + item.value_length + 16'd31) >> 6);
        end else begin
          found <= plan != PLAN_GET || found;
          state <= FOUND;
        end
      end

      FOUND: begin
        store_window <= '0;
        value_sum    <= '0;
        sum_step     <= '0;
        case (plan)
          PLAN_GET: begin
            events.hit  <= found;
            events.miss <= !found;
            if (found) state <= SUM;
            else if (operation.quiet) state <= FORWARD;
            else state <= GUARD;
          end
          PLAN_ACKNOWLEDGE: begin
            chunk <= entry.chunk;
            if (!found) begin
              state <= RELEASE;
            end else if (acknowledged) begin
              events.visible      <= probed.pending;
              bucket[{way, 6'd0}+:64]  <= now_visible;
              state               <= HEADER_WRITE;
            end else begin
              state <= FREE;
            end
          end
          default: begin
            events.invalidated <= found && plan == PLAN_INVALIDATE;
            if (found) state <= FREE;
            else state <= storing ? SLOT : freed ? BUCKET_WRITE : STORED;
          end
        endcase
      end

      FREE: begin
        if (slab_ready) begin
          bucket[{way, 6'd0}+:64] <= '0;
          found                   <= 1'b0;
          freed                   <= 1'b1;
          // Another entry may hold the key, of another server.
          if (candidates != 8'd0 && plan != PLAN_ACKNOWLEDGE) state <= SEARCH;
          else state <= storing ? SLOT : BUCKET_WRITE;
        end
      end

      SLOT: begin
        if (invalid_ways != 8'd0) begin
          way   <= lowest(invalid_ways);
          state <= ALLOCATE;
        end else begin
          // The bucket is full: another entry leaves.
          way            <= victim;
          victim         <= victim + 3'd1;
          events.evicted <= 1'b1;
          chunk          <= leaving.chunk;
          state          <= leaving.chunk_class == needed ? WINDOW : FREE;
        end
      end

      ALLOCATE: if (slab_ready) state <= ALLOCATE_WAIT;

      ALLOCATE_WAIT: begin
        if (slab_response_valid) begin
          if (slab_response.ok) begin
            chunk <= slab_response.chunk;
            state <= WINDOW;
          end else if (class_ways != 8'd0) begin
            way            <= lowest(class_ways);
            chunk          <= reused.chunk;
            events.evicted <= 1'b1;
            state          <= WINDOW;
          end else begin
            events.uncached <= 1'b1;
            storing         <= 1'b0;
            state           <= BUCKET_WRITE;
          end
        end
      end

      WINDOW: state <= WINDOW_LATCH;

      WINDOW_LATCH: begin
        value_sum   <= net_pkg::add(value_sum, window_total);
        merged_line <= merged;
        if (store_window == 4'd0) first_window <= merged;
        if (store_window[0]) low_window <= merged;
        if (store_window != 4'd0 && (store_window == last_window || !store_window[0])) begin
          state <= LINE_WRITE;
        end else if (store_window == last_window) begin
          state <= HEADER_WRITE;
        end else begin
          store_window <= store_window + 4'd1;
          state        <= WINDOW;
        end
      end

      LINE_WRITE: begin
        if (data_ready) begin
          store_window <= store_window + 4'd1;
          state        <= store_window == last_window ? HEADER_WRITE : WINDOW;
        end
      end

      HEADER_WRITE: begin
        if (data_ready) begin
          if (plan != PLAN_ACKNOWLEDGE) bucket[{way, 6'd0}+:64] <= new_descriptor;
          events.stored <= plan == PLAN_SET;
          events.filled <= plan == PLAN_FILL;
          state         <= BUCKET_WRITE;
        end
      end

      BUCKET_WRITE: if (hash_ready) state <= STORED;

      STORED: begin
        case (plan)
          PLAN_FILL, PLAN_ACKNOWLEDGE: state <= RELEASE;
          default: begin
            // A SET that found no chunk is acknowledged as any other mutation.
            if (plan == PLAN_SET && !storing) plan <= PLAN_INVALIDATE;
            if (inserts) state <= INSERT;
            else state <= operation.quiet ? NEXT : MARK;
          end
        endcase
      end

      INSERT: if (miss_ready) state <= INSERT_WAIT;

      INSERT_WAIT: begin
        if (miss_response_valid) begin
          slot        <= miss_response.slot;
          store_count <= store_count + 28'd1;
          state       <= miss_response.hit && plan == PLAN_GET ? INSERT_KEY : FORWARD;
        end
      end

      INSERT_KEY: begin
        if (miss_ready) begin
          key_window <= key_window + 3'd1;
          if (key_window == key_windows) state <= FORWARD;
        end
      end

      MARK: if (miss_ready) state <= NEXT;

      NEXT: begin
        operation_offset <= operation_offset + 16'd24 + operation.body_length;
        key_window       <= '0;
        crc              <= '1;
        state            <= operation.last ? FORWARD : OPERATION;
      end

      TAKE: if (miss_ready) state <= TAKE_WAIT;

      TAKE_WAIT: begin
        if (miss_response_valid) begin
          slot       <= miss_response.slot;
          entry      <= miss_response.entry;
          hash       <= miss_response.entry.hash;
          key_length <= miss_response.entry.key_length;
          plan       <= miss_response.entry.kind == memcached_pkg::REQUEST_GET ? PLAN_FILL
              : PLAN_ACKNOWLEDGE;
          if (!miss_response.hit) begin
            state <= FORWARD;
          end else if (miss_response.ambiguous) begin
            events.fill_refused <= miss_response.entry.kind == memcached_pkg::REQUEST_GET;
            state               <= RELEASE;
          end else if (miss_response.entry.kind != memcached_pkg::REQUEST_GET) begin
            state <= DECLARE;
          end else begin
            state <= operation.status_ok && operation.extras_length == 8'd4
                && 16'(miss_response.entry.key_length) + value_length
                   <= 16'(lake_pkg::MAX_ITEM_BYTES) ? KEY_READ : RELEASE;
          end
        end
      end

      KEY_READ: if (miss_ready) state <= KEY_READ_WAIT;

      KEY_READ_WAIT: begin
        if (miss_response_valid) begin
          key_window <= key_window + 3'd1;
          state      <= key_window == key_windows ? DECLARE : KEY_READ;
        end
      end

      // A copy of this reply must not be taken for that to a later request.
      RELEASE: if (miss_ready) state <= settings.single_use ? MARK : FORWARD;

      SUM: begin
        sum_step <= sum_step + 2'd1;
        case (sum_step)
          // The pseudo header has the addresses, the protocol and the length.
          2'd0: udp_sum <= net_pkg::add(window_total, 16'd17);
          2'd1: udp_sum <= net_pkg::add(net_pkg::add(udp_sum, window_total), reply_length - 16'd34);
          2'd2: begin
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
        if (advance) begin
          m_valid    <= send_word != send_words;
          m_last     <= send_word + 1'b1 == send_words;
          shown_word <= send_word;
          if (send_word != send_words) send_word <= send_word + 1'b1;
        end
        if (m_valid && m_ready && m_last) begin
          m_valid          <= 1'b0;
          declare_valid    <= 1'b0;
          finish           <= 1'b1;
          events.forwarded <= state == FORWARD;
          events.replied   <= state == REPLY;
          state            <= RECEIVE;
        end
      end

      default: state <= RECEIVE;
    endcase

    if (rst) begin
      state         <= RECEIVE;
      words         <= '0;
      m_valid       <= 1'b0;
      declare_valid <= 1'b0;
      finish        <= 1'b0;
      events        <= '0;
      ignores       <= 1'b0;
      victim        <= '0;
      store_count   <= '0;
    end
  end

  logic unused;
  assign unused = &{1'b0, probed, held, entry, leaving, reused, operation.response};
endmodule
