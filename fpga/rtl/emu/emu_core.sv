// A memcached in one state machine, as in Emu (paper, section IV-A): all data on chip, no network
// functions. It answers GET, GETK, SET and DELETE for keys and values that fit one line of its
// table together; other requests and all other frames are dropped, also those that are corrupt
// (frame_check) or not for this card. One frame at a time, one step after the other: the key is
// hashed byte by byte, the checksum of the reply is added up word by word.
// The table is direct mapped: a SET replaces whatever stands in its line.
module emu_core #(
    parameter int ENTRIES = 1024
) (
    input  logic           clk,
    input  logic           rst,
    input  logic           udp_header,  // datagrams begin with memcached's frame header
    input  logic [15:0]    udp_port,
    input  logic [47:0]    mac,         // the first byte on the wire is mac[7:0]; 0: any
    input  logic [31:0]    address,     // IPv4, as mac; 0: any

    input  logic           s_valid,
    output logic           s_ready,
    input  logic [255:0]   s_data,
    input  logic           s_last,
    input  net_pkg::meta_t s_meta,

    output logic           m_valid,
    input  logic           m_ready,
    output logic [255:0]   m_data,
    output logic           m_last,
    output net_pkg::meta_t m_meta,

    output logic [31:0]    hits,
    output logic [31:0]    misses,
    output logic [31:0]    stores,
    output logic [31:0]    deletes,
    output logic [31:0]    dropped,
    output logic [31:0]    corrupt_frames  // of them, requests that are corrupt
);
  localparam int INDEX_BITS = $clog2(ENTRIES);
  localparam int ITEM_BYTES = 64;
  localparam int FRAME_WORDS = 64;

  typedef enum logic [3:0] {
    CLEAR, RECEIVE, START, DECODE, CHECK, FETCH, HASH, READ, COMPARE, WRITE, SUM, SEND
  } state_t;

  typedef struct packed {
    logic                    valid;
    logic [7:0]              key_length;
    logic [7:0]              value_length;
    logic [31:0]             flags;
    logic [63:0]             cas;
    logic [8*ITEM_BYTES-1:0] item;  // key, then value
  } line_t;
  localparam int LINE_BITS = 113 + 8 * ITEM_BYTES;

  state_t                state;
  logic [INDEX_BITS-1:0] clear_index;

  // ---- the frame -------------------------------------------------------------------------------
  logic [511:0]         head;
  net_pkg::meta_t       meta;
  logic [6:0]           words;
  logic                 receive;
  logic                 is_request;
  logic                 header_ok;
  logic                 for_card;
  logic [15:0]          ip_length;
  logic [15:0]          udp_length;
  logic [15:0]          payload;
  memcached_pkg::operation_t decoded;
  memcached_pkg::operation_t operation;
  logic                 frame_read;
  logic [10:0]          frame_offset;
  logic [255:0]         frame_window;

  assign s_ready    = state == RECEIVE;
  assign receive    = s_ready && s_valid;
  assign payload    = udp_header ? 16'd50 : 16'd42;
  assign ip_length  = {head[135:128], head[143:136]};
  assign udp_length = {head[311:304], head[319:312]};
  // IPv4 without options, no fragment, UDP to the port of memcached.
  assign is_request = head[111:96] == 16'h0008 && head[119:112] == 8'h45
      && (head[175:160] & 16'hff3f) == 16'd0 && head[191:184] == 8'd17
      && {head[295:288], head[303:296]} == udp_port;
  // To its address, which is no group, and not at the end of its time to live.
  assign for_card   = !head[0] && (mac == '0 || head[47:0] == mac)
      && (address == '0 || head[271:240] == address) && head[183:176] != 8'd0;
  assign header_ok  = is_request && for_card && ip_length >= payload + 16'd10
      && meta.length >= ip_length + 16'd14 && udp_length + 16'd20 == ip_length
      && (!udp_header || head[383:352] == 32'h0100_0000);

  // A word waits here for the next one, since the check wants 64 bytes with the first word.
  logic         held_valid;
  logic         held_first;
  logic         held_last;
  logic [255:0] held_data;
  logic         corrupt;

  frame_check check (
      .clk,
      .take   (held_valid && (receive || held_last)),
      .first  (held_first),
      .header ({held_last ? 256'd0 : s_data, held_data}),
      .length (meta.length),
      .data   (held_data),
      .corrupt
  );

  always_ff @(posedge clk) begin
    if (receive) begin
      held_first <= words == 7'd0;
      held_last  <= s_last;
      held_data  <= s_data;
    end
    if (rst) held_valid <= 1'b0;
    else held_valid <= receive || (held_valid && !held_last);
  end

  window_buffer #(
      .WORDS(FRAME_WORDS)
  ) frame_buffer (
      .clk,
      .write      ({receive && words[0], receive && !words[0]}),
      .write_row  ({2{words[5:1]}}),
      .write_data ({2{s_data}}),
      .read       (frame_read),
      .read_offset(frame_offset),
      .show       (state == DECODE || state == FETCH),
      .window     (frame_window)
  );

  operation_decoder decode (
      .enable   (state == DECODE),
      .window   (frame_window),
      .remaining(ip_length + 16'd14 - payload),
      .operation(decoded)
  );

  // ---- key and table ---------------------------------------------------------------------------
  logic [15:0]             key_offset;
  logic [7:0]              key_length;
  logic [7:0]              value_length;
  logic [8*ITEM_BYTES-1:0] item;       // key and value of the request
  logic                    second;     // the second window of the item is being read
  logic [7:0]              hashed;     // bytes of the key
  logic [31:0]             crc;
  logic [31:0]             crc_next;
  logic [LINE_BITS-1:0]    table_line;
  line_t                   line;
  line_t                   new_line;
  logic                    found;
  logic [63:0]             cas;
  logic                    store;
  logic                    get;

  assign key_offset = payload + 16'd24 + 16'(operation.extras_length);
  assign line       = table_line;
  assign found      = line.valid && line.key_length == key_length
      && ((line.item ^ item) & below(key_length)) == '0;
  assign store      = operation.opcode == memcached_pkg::OPCODE_SET;
  assign get        = operation.get;

  function automatic logic [8*ITEM_BYTES-1:0] below(input logic [7:0] length);
    for (int i = 0; i < ITEM_BYTES; i++) begin
      below[8*i+:8] = {8{8'(i) < length}};
    end
  endfunction

  crc32 #(
      .BYTES(1)
  ) key_crc (
      .state(crc),
      .data (item[{hashed[5:0], 3'd0}+:8]),
      .bytes(1'b1),
      .next (crc_next)
  );

  always_comb begin
    new_line              = '0;
    new_line.valid        = store;
    new_line.key_length   = key_length;
    new_line.value_length = value_length;
    new_line.flags        = operation.flags;
    new_line.cas          = cas;
    new_line.item         = item & below(key_length + value_length);
  end

  ram_sdp #(
      .WIDTH(LINE_BITS),
      .DEPTH(ENTRIES)
  ) table_ram (
      .clk,
      .write_enable (state == CLEAR || state == WRITE),
      .write_address(state == CLEAR ? clear_index : ~crc[INDEX_BITS-1:0]),
      .write_data   (state == CLEAR ? '0 : new_line),
      .read_enable  (state == READ),
      .read_address (~crc[INDEX_BITS-1:0]),
      .read_data    (table_line)
  );

  // ---- reply -----------------------------------------------------------------------------------
  localparam logic [71:0] NOT_FOUND_TEXT = {
    8'h64, 8'h6e, 8'h75, 8'h6f, 8'h66, 8'h20, 8'h74, 8'h6f, 8'h4e  // "Not found", last byte first
  };
  logic         answered;     // the key was there, or was stored
  logic [767:0] unsummed_head;
  logic [15:0]  head_length;
  logic [15:0]  value_bytes;
  logic [15:0]  frame_length;
  logic [8*ITEM_BYTES-1:0] body;
  logic [1279:0] frame;       // the reply: head, then key and value
  logic [1279:0] summed;
  logic [6:0]   sum_index;    // of a 16-bit word
  logic [15:0]  ip_sum;
  logic [15:0]  udp_sum;
  logic [15:0]  word;
  logic [2:0]   send_word;

  // A miss repeats the key if the request wants it, otherwise it has a text.
  always_comb begin
    body        = '0;
    value_bytes = '0;
    if (get && answered) begin
      body        = operation.echoes_key ? line.item : line.item >> {key_length[5:0], 3'd0};
      value_bytes = 16'(line.value_length);
    end else if (operation.echoes_key) begin
      body = item & below(key_length);
    end else if (!answered) begin
      body        = {440'd0, NOT_FOUND_TEXT};
      value_bytes = 16'd9;
    end
  end

  reply_head build_reply (
      .enable      (state == SUM || state == SEND),
      .request     (head),
      .udp_header,
      .opcode      (operation.opcode),
      .status      (answered ? 16'd0 : 16'd1),
      .opaque      (operation.opaque),
      .cas         (!answered ? 64'd0 : get ? line.cas : store ? cas : 64'd0),
      .with_flags  (get && answered),
      .flags       (line.flags),
      .key_bytes   (operation.echoes_key ? key_length : 8'd0),
      .value_bytes,
      .head        (unsummed_head),
      .head_length,
      .frame_length
  );

  assign frame = {512'd0, unsummed_head} | (1280'(body) << {head_length[6:0], 3'd0});
  assign word  = {frame[{sum_index, 4'd0}+:8], frame[{sum_index, 4'd8}+:8]};

  always_comb begin
    summed            = frame;
    summed[192+:16]   = {~ip_sum[7:0], ~ip_sum[15:8]};
    summed[320+:16]   = udp_sum == 16'hffff ? 16'hffff : {~udp_sum[7:0], ~udp_sum[15:8]};
  end

  assign m_valid = state == SEND;
  assign m_data  = summed[{send_word, 8'd0}+:256];
  assign m_last  = 16'({send_word, 5'd0}) + 16'd32 >= frame_length;
  always_comb begin
    m_meta.length      = frame_length;
    m_meta.source      = '0;
    m_meta.destination = meta.source;
  end

  always_comb begin
    frame_read   = 1'b1;
    frame_offset = 11'(payload);
    if (state == CHECK) frame_offset = 11'(key_offset);
    else if (state == FETCH) frame_offset = 11'(key_offset + 16'd32);
    else if (state != START) frame_read = 1'b0;
  end

  always_ff @(posedge clk) begin
    case (state)
      CLEAR: begin
        clear_index <= clear_index + 1'b1;
        if (clear_index == '1) state <= RECEIVE;
      end

      RECEIVE: begin
        if (receive) begin
          if (words == 7'd0) head[255:0] <= s_data;
          if (words == 7'd1) head[511:256] <= s_data;
          meta  <= s_meta;
          words <= words + 7'd1;
          if (s_last) state <= START;
        end
      end

      START: begin
        words     <= '0;
        second    <= 1'b0;
        hashed    <= '0;
        crc       <= '1;
        answered  <= 1'b0;
        send_word <= '0;
        state     <= DECODE;
      end

      DECODE: begin
        operation    <= decoded;
        key_length   <= decoded.key_length;
        value_length <= decoded.body_length[7:0] - decoded.extras_length - decoded.key_length;
        state        <= CHECK;
      end

      CHECK: begin
        corrupt_frames <= corrupt_frames + 32'(is_request && corrupt);
        if (header_ok && !corrupt
            && operation.ok && !operation.response && operation.last && !operation.quiet
            && operation.body_length <= 16'(ITEM_BYTES) + 16'(operation.extras_length)
            && (operation.storable || operation.get
                || operation.opcode == memcached_pkg::OPCODE_DELETE)) begin
          state <= FETCH;
        end else begin
          dropped <= dropped + 1'b1;
          state   <= RECEIVE;
        end
      end

      FETCH: begin
        second <= 1'b1;
        if (second) item[511:256] <= frame_window;
        else item[255:0] <= frame_window;
        if (second) state <= HASH;
      end

      HASH: begin
        crc    <= crc_next;
        hashed <= hashed + 8'd1;
        if (hashed + 8'd1 == key_length) state <= READ;
      end

      READ: state <= COMPARE;

      COMPARE: begin
        answered  <= found || store;
        sum_index <= '0;
        ip_sum    <= '0;
        udp_sum   <= 16'd17;  // the protocol, of the pseudo header
        cas       <= store ? cas_after(cas) : cas;
        hits      <= hits + 32'(get && found);
        misses    <= misses + 32'(get && !found);
        stores    <= stores + 32'(store);
        deletes   <= deletes + 32'(!store && !get && found);
        state     <= store || (!get && found) ? WRITE : SUM;
      end

      WRITE: state <= SUM;

      SUM: begin
        sum_index <= sum_index + 7'd1;
        if (sum_index >= 7'd7 && sum_index < 7'd17) ip_sum <= net_pkg::add(ip_sum, word);
        // Addresses, and the length once more: the pseudo header.
        if (sum_index >= 7'd13) udp_sum <= net_pkg::add(udp_sum, word);
        if (16'({sum_index, 1'b0}) + 16'd2 >= frame_length) begin
          udp_sum <= net_pkg::add(net_pkg::add(udp_sum, word), frame_length - 16'd34);
          state   <= SEND;
        end
      end

      SEND: begin
        if (m_ready) begin
          send_word <= send_word + 3'd1;
          if (m_last) state <= RECEIVE;
        end
      end

      default: state <= RECEIVE;
    endcase

    if (rst) begin
      state       <= CLEAR;
      clear_index <= '0;
      words       <= '0;
      cas         <= '0;
      hits        <= '0;
      misses      <= '0;
      stores      <= '0;
      deletes     <= '0;
      dropped     <= '0;
      corrupt_frames <= '0;
    end
  end

  // CAS values are counted in the order of the bytes on the wire.
  function automatic logic [63:0] cas_after(input logic [63:0] value);
    logic [63:0] number;
    for (int i = 0; i < 8; i++) number[8*i+:8] = value[56-8*i+:8];
    number = number + 64'd1;
    for (int i = 0; i < 8; i++) cas_after[8*i+:8] = number[56-8*i+:8];
  endfunction

  logic unused;
  assign unused = &{1'b0, operation, head[511:384], meta, head_length};
endmodule
