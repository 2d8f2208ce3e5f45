// The receive side of a function: writes a header and a frame into the buffers of a chain.
//
// Rules
// 1. A frame waits in front until a chain is there. Frames are dropped while the queue does not run.
// 2. A chain that is too short for its frame, or has a buffer that the device must not write, is
//    returned with length 0, and the frame is dropped.
// 3. A burst that has begun ends: if the queue stops, the rest of its bytes are not enabled.
// 4. A burst takes its words at the pace of the stream: whole frames must wait in a FIFO before.
//
// Throughput: one word a cycle, and one or two cycles for each descriptor, burst and frame.
module virtio_receive #(
    parameter int BYTES = 64
) (
    input  logic               clk,
    input  logic               rst,

    input  logic               run,

    // frames
    input  logic               s_valid,
    output logic               s_ready,
    input  logic [8*BYTES-1:0] s_data,
    input  logic               s_last,
    input  net_pkg::meta_t     s_meta,

    // descriptors
    input  logic               piece_valid,
    output logic               piece_ready,
    input  virtio_pkg::piece_t piece,

    // writes: the address of a burst, then its words
    output logic               write_valid,
    input  logic               write_ready,
    output logic [63:0]        write_address,
    output logic [7:0]         write_beats,  // words - 1
    output logic               data_valid,
    input  logic               data_ready,
    output logic [8*BYTES-1:0] data,
    output logic [BYTES-1:0]   data_strobe,
    output logic               data_last,

    // chains to return
    output logic               used_valid,
    input  logic               used_ready,
    output virtio_pkg::used_t  used,

    output logic               event_frame,   // pulses
    output logic [15:0]        event_length,  // with event_frame
    output logic               event_dropped,
    output logic               event_bad
);
  localparam int OFFSET_BITS = $clog2(BYTES);
  localparam int BURST_BITS = $clog2(virtio_pkg::BURST_BYTES);
  localparam int LENGTH_BITS = 14;  // of header and frame

  typedef enum logic [2:0] {
    IDLE,
    PIECE,    // takes a descriptor
    ADDRESS,  // requests a burst
    DATA,     // sends its words
    RETURN,   // returns the chain
    DISCARD   // the rest of the frame
  } state_t;

  // Header and frame are one stream of bytes: the header ends the word before the first word of the
  // frame. Its only field that is not 0 is num_buffers = 1.
  localparam logic [8*BYTES-1:0] HEADER_WORD = (8 * BYTES)'(1) << (8 * (BYTES - 2));
  localparam int HEADER_PLACE = BYTES - virtio_pkg::HEADER_BYTES;

  state_t                 state;
  logic [8*BYTES-1:0]     word;        // of the stream, with the next byte
  logic                   word_valid;
  logic [OFFSET_BITS-1:0] place;       // of the next byte
  logic                   open;        // words of the frame are still to come
  logic [LENGTH_BITS-1:0] remaining;   // bytes of the stream
  logic [15:0]            length;      // of the frame
  logic [15:0]            head;
  logic                   ends;        // the descriptor is the last of its chain
  logic                   chain_bad;
  logic [63:0]            address;
  logic [LENGTH_BITS-1:0] left;        // bytes of the descriptor
  logic [LENGTH_BITS-1:0] piece_bytes;
  logic [BURST_BITS:0]    until_boundary;
  logic [BURST_BITS:0]    burst;
  logic [BURST_BITS:0]    burst_left;
  logic [OFFSET_BITS-1:0] offset;      // in the word that is written
  logic [OFFSET_BITS:0]   count;       // bytes of this word
  logic [OFFSET_BITS:0]   last_count;
  logic [OFFSET_BITS:0]   reach;
  logic                   need_next;   // bytes of the next word of the stream
  logic                   passes;      // all of `word`
  logic [OFFSET_BITS-1:0] turn;
  logic                   aborted;
  logic                   begins;
  logic                   take_piece;
  logic                   accept_word;
  logic                   fill;
  logic                   stream_take;
  logic                   usable;

  assign usable     = s_meta.length != '0
      && s_meta.length <= 16'(virtio_pkg::MAX_FRAME_BYTES);
  assign begins     = state == IDLE && s_valid && run && usable && piece_valid;
  assign piece_ready = state == PIECE;
  assign take_piece = piece_valid && piece_ready;
  assign piece_bytes = piece.length < 32'(remaining) ? piece.length[LENGTH_BITS-1:0] : remaining;

  assign write_valid    = run && state == ADDRESS;
  assign write_address  = address;
  assign until_boundary = (BURST_BITS + 1)'(virtio_pkg::BURST_BYTES)
      - (BURST_BITS + 1)'(address[BURST_BITS-1:0]);
  assign burst          = left < LENGTH_BITS'(until_boundary) ? left[BURST_BITS:0]
      : until_boundary;
  assign write_beats    = 8'((32'(address[OFFSET_BITS-1:0]) + 32'(burst) - 1) / BYTES);

  // A word to write: bytes of this word of the stream and of the next one.
  assign last_count  = (OFFSET_BITS + 1)'(BYTES) - (OFFSET_BITS + 1)'(offset);
  assign data_last   = burst_left <= (BURST_BITS + 1)'(last_count);
  assign count       = data_last ? burst_left[OFFSET_BITS:0] : last_count;
  assign reach       = (OFFSET_BITS + 1)'(place) + count;
  assign passes      = reach[OFFSET_BITS];
  assign need_next   = reach > (OFFSET_BITS + 1)'(BYTES);
  assign turn        = place - offset;
  assign data_valid  = state == DATA
      && (aborted || !run || (word_valid && (!need_next || s_valid)));
  assign accept_word = data_valid && data_ready;

  always_comb begin
    data        = '0;
    data_strobe = '0;
    if (state == DATA && run && !aborted) begin
      // Bytes from `place` on are of this word of the stream, the others of the next one.
      data        = '1;
      data        = data << {place, 3'd0};
      data        = (word & data) | (s_data & ~data);
      data        = (8 * BYTES)'({data, data} >> {turn, 3'd0});
      data_strobe = BYTES'((BYTES + 1)'(1) << count) - 1'b1;
      data_strobe = data_strobe << offset;
    end
  end

  // The next word of the stream is taken when it is needed, or when this one is used up.
  assign fill        = state == DATA && !word_valid;
  assign stream_take = run && !aborted && open && (fill || (accept_word && passes));
  assign s_ready     = stream_take || state == DISCARD;

  assign used_valid    = run && state == RETURN;
  assign used          = {
    chain_bad ? 32'd0 : 32'(length) + 32'(virtio_pkg::HEADER_BYTES), head
  };
  assign event_frame   = used_valid && used_ready && !chain_bad;
  assign event_length  = length;
  assign event_bad     = used_valid && used_ready && chain_bad;
  assign event_dropped = event_bad || (state == IDLE && s_valid && (!run || !usable))
      || (!run && (state == PIECE || state == ADDRESS || state == RETURN))
      || (state == DATA && accept_word && data_last && (aborted || !run));

  always_ff @(posedge clk) begin
    if (begins) begin
      word   <= HEADER_WORD;
      length <= s_meta.length;
    end else if (stream_take && s_valid) begin
      word <= s_data;
    end
    if (take_piece) begin
      head    <= piece.head;
      ends    <= piece.last;
      address <= piece.address;
      left    <= piece_bytes;
    end else if (write_valid && write_ready) begin
      address <= address + 64'(burst);
      left    <= left - LENGTH_BITS'(burst);
    end
    if (state == ADDRESS) begin
      burst_left <= burst;
      offset     <= address[OFFSET_BITS-1:0];
    end else if (accept_word) begin
      burst_left <= burst_left - (BURST_BITS + 1)'(count);
      offset     <= '0;
    end
    if (begins) place <= OFFSET_BITS'(HEADER_PLACE);
    else if (accept_word) place <= reach[OFFSET_BITS-1:0];
    if (begins) word_valid <= 1'b1;
    else if (stream_take && s_valid) word_valid <= 1'b1;
    else if (accept_word && passes) word_valid <= 1'b0;
    if (begins) remaining <= LENGTH_BITS'(s_meta.length) + LENGTH_BITS'(virtio_pkg::HEADER_BYTES);
    else if (accept_word) remaining <= remaining - LENGTH_BITS'(count);
    if (begins) chain_bad <= 1'b0;
    else if (take_piece) chain_bad <= chain_bad || !piece.write || piece.bad
        || (piece.last && LENGTH_BITS'(piece_bytes) < remaining);
    aborted <= state == DATA && (aborted || !run);

    if (rst) begin
      state <= IDLE;
      open  <= 1'b0;
    end else begin
      if (begins) open <= 1'b1;
      else if (s_valid && s_ready && s_last) open <= 1'b0;
      case (state)
        IDLE: begin
          if (s_valid && (!run || !usable)) state <= DISCARD;
          else if (begins) state <= PIECE;
        end
        PIECE: begin
          if (!run) state <= open ? DISCARD : IDLE;
          else if (take_piece) begin
            if (piece.write && !piece.bad && !chain_bad && piece_bytes != '0) state <= ADDRESS;
            else if (piece.last) state <= RETURN;
          end
        end
        ADDRESS: begin
          if (!run) state <= open ? DISCARD : IDLE;
          else if (write_ready) state <= DATA;
        end
        DATA: begin
          if (accept_word && data_last) begin
            if (aborted || !run) state <= open && !(s_valid && s_ready && s_last) ? DISCARD : IDLE;
            else if (left != '0) state <= ADDRESS;
            else state <= ends ? RETURN : PIECE;
          end
        end
        RETURN: begin
          if (!run || used_ready) state <= open ? DISCARD : IDLE;
        end
        default: begin
          if (s_valid && s_last) state <= IDLE;
        end
      endcase
    end
  end

  logic unused;
  assign unused = &{1'b0, s_meta};
endmodule
