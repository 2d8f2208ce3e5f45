// The transmit side of a function: reads the buffers of chains and sends their bytes as frames,
// without the header.
//
// Rules
// 1. A read is requested only if the buffer has space for its bytes. So responses never wait, and a
//    function whose frames are not taken does not hold up other functions.
// 2. A frame is sent when all of it has been read. A chain that cannot be used (a buffer to write,
//    an address that fails, a frame that is too short or too long) is returned, its frame dropped.
// 3. Each chain ends with a response: a chain without bytes to read at its end reads a word of the
//    descriptor table, which is not used.
//
// Throughput: one word a cycle, one chain every two cycles. Latency: a read, and three cycles.
module virtio_transmit #(
    parameter int BYTES = 64,
    parameter int WORDS = 512,  // of the frame buffer; a power of two
    parameter int CHAINS = 64   // chains and frames under way; a power of two
) (
    input  logic               clk,
    input  logic               rst,

    input  logic               run,  // 0: forgets all frames that were not read whole
    input  virtio_pkg::queue_t setup,
    input  logic               link_up,

    // descriptors
    input  logic               s_valid,
    output logic               s_ready,
    input  virtio_pkg::piece_t s_piece,

    // reads
    output logic               read_valid,
    input  logic               read_ready,
    output logic [63:0]        read_address,
    output logic [7:0]         read_beats,   // words - 1
    input  logic               response,
    input  logic [8*BYTES-1:0] response_data,
    input  logic               response_last,
    input  logic               response_error,

    // chains to return; `used_level` of them wait already
    output logic               used_valid,
    output virtio_pkg::used_t  used,
    input  logic [$clog2(CHAINS):0] used_level,

    output logic               m_valid,
    input  logic               m_ready,
    output logic [8*BYTES-1:0] m_data,
    output logic               m_last,
    output net_pkg::meta_t     m_meta,

    output logic               event_frame,    // pulses
    output logic [15:0]        event_length,   // with event_frame
    output logic               event_dropped,
    output logic               event_bad
);
  localparam int OFFSET_BITS = $clog2(BYTES);
  localparam int WORD_BITS = $clog2(WORDS);
  localparam int CHAIN_BITS = $clog2(CHAINS);
  localparam int BURST_BITS = $clog2(virtio_pkg::BURST_BYTES);
  localparam int LENGTH_BITS = 14;  // of a frame

  // A read under way.
  typedef struct packed {
    logic                   last;    // of the chain
    logic                   bad;     // the chain cannot be used
    logic [15:0]            head;
    logic [LENGTH_BITS-1:0] length;  // of the frame
    logic [OFFSET_BITS-1:0] offset;  // of the first byte
    logic [BURST_BITS:0]    bytes;
  } command_t;
  localparam int COMMAND_BITS = 18 + LENGTH_BITS + OFFSET_BITS + BURST_BITS + 1;

  function automatic logic [WORD_BITS:0] words_of(input logic [LENGTH_BITS-1:0] bytes);
    words_of = (WORD_BITS + 1)'((32'(bytes) + BYTES - 1) / BYTES);
  endfunction

  // Requests.
  typedef enum logic [1:0] {
    PIECE,  // takes a descriptor
    BURST,  // requests its bytes
    EMPTY   // the chain ends without bytes
  } state_t;

  state_t                 state;
  logic [3:0]             header_left;
  logic                   bad;
  logic [LENGTH_BITS-1:0] total;      // bytes of the frame that were requested
  logic [15:0]            head;
  logic                   ends;       // the descriptor is the last of its chain
  logic [63:0]            address;
  logic [LENGTH_BITS-1:0] left;       // bytes of the descriptor
  logic [CHAIN_BITS:0]    chains;     // requested, not in the used ring's queue
  logic                   chain_space;
  logic                   take;
  logic [3:0]             skipped;
  logic [31:0]            rest;
  logic                   too_long;
  logic                   piece_bad;
  logic [BURST_BITS:0]    burst;
  logic [BURST_BITS:0]    until_boundary;
  logic                   burst_last;  // of the descriptor
  logic [LENGTH_BITS-1:0] total_next;
  logic [WORD_BITS:0]     words_new;
  logic [WORD_BITS:0]     reserved;    // words of frames that are being read
  logic                   space;
  logic                   read_accept;
  logic                   chain_requested;
  command_t               command;

  // Reads under way.
  logic [COMMAND_BITS-1:0] commands[CHAINS];  // yosys takes no arrays of structs
  command_t             current;
  logic [CHAIN_BITS:0]  command_write;
  logic [CHAIN_BITS:0]  command_read;
  logic                 command_space;

  // Packs bytes into words.
  logic                   in_burst;
  logic [BURST_BITS:0]    bytes_left;
  logic [BURST_BITS:0]    bytes_before;
  logic [OFFSET_BITS-1:0] offset;
  logic [OFFSET_BITS:0]   taken;
  logic [OFFSET_BITS-1:0] fill;      // bytes in `residue`
  logic [OFFSET_BITS:0]   sum;
  logic [OFFSET_BITS-1:0] turn;
  logic [8*BYTES-1:0]     residue;
  logic [8*BYTES-1:0]     rotated;
  logic [8*BYTES-1:0]     merged;
  logic                   beat;
  logic                   frame_end;
  logic                   failed;    // a read of the frame
  logic                   drop;
  logic                   commit;
  logic                   complete;  // a word is complete
  logic                   second;    // and the last one of the frame follows

  // Frame buffer.
  logic                 pending;       // a word that waits for one cycle
  logic [8*BYTES-1:0]   pending_data;
  logic [WORD_BITS-1:0] pending_address;
  logic                 ram_write;
  logic [WORD_BITS:0]   produced;      // words of whole frames and of the present one
  logic [WORD_BITS:0]   produced_next;
  logic [WORD_BITS:0]   frame_start;
  logic [WORD_BITS:0]   consumed;
  logic [WORD_BITS:0]   occupied;
  logic                 committed;     // in the last cycle
  logic [LENGTH_BITS-1:0] committed_length;

  // Frames in the buffer.
  logic [LENGTH_BITS-1:0] lengths[CHAINS];
  logic [LENGTH_BITS-1:0] next_length;
  logic [CHAIN_BITS:0]    length_write;
  logic [CHAIN_BITS:0]    length_read;
  logic [CHAIN_BITS:0]    frames;        // that wait
  logic [WORD_BITS:0]     words_left;
  logic                   load;
  logic                   begins;

  // Requests: a descriptor, without the bytes of the header.
  assign chain_space = chains + used_level < (CHAIN_BITS + 1)'(CHAINS - 1)
      && chains + frames < (CHAIN_BITS + 1)'(CHAINS - 2);
  assign s_ready     = run && state == PIECE && chain_space;
  assign take        = s_valid && s_ready;
  assign skipped     = s_piece.length < 32'(header_left) ? s_piece.length[3:0] : header_left;
  assign rest        = s_piece.length - 32'(skipped);
  assign too_long    = rest > 32'(virtio_pkg::MAX_FRAME_BYTES)
      || 32'(total) + rest > 32'(virtio_pkg::MAX_FRAME_BYTES);
  assign piece_bad   = bad || s_piece.write || s_piece.bad || too_long;

  // Requests: a burst of it.
  assign until_boundary = (BURST_BITS + 1)'(virtio_pkg::BURST_BYTES)
      - (BURST_BITS + 1)'(address[BURST_BITS-1:0]);
  assign burst          = left < LENGTH_BITS'(until_boundary) ? left[BURST_BITS:0]
      : until_boundary;
  assign burst_last     = left == LENGTH_BITS'(burst);
  assign total_next     = total + LENGTH_BITS'(burst);
  assign words_new      = words_of(total_next) - words_of(total);
  assign occupied       = frame_start - consumed;
  assign space          = {1'b0, occupied} + {1'b0, reserved} + {1'b0, words_new}
      <= (WORD_BITS + 2)'(WORDS);
  assign command_space  = command_write - command_read != (CHAIN_BITS + 1)'(CHAINS);
  assign read_valid     = run && command_space && ((state == BURST && space) || state == EMPTY);
  assign read_address   = state == BURST ? address : setup.desc;
  assign read_beats     = state == BURST
      ? 8'((32'(address[OFFSET_BITS-1:0]) + 32'(burst) - 1) / BYTES) : 8'd0;
  assign read_accept    = read_valid && read_ready;
  assign chain_requested = read_accept && (state == EMPTY || (burst_last && ends));

  always_comb begin
    command        = '0;
    command.head   = head;
    command.offset = address[OFFSET_BITS-1:0];
    if (state == BURST) begin
      command.last   = burst_last && ends;
      command.length = total_next;
      command.bytes  = burst;
    end else begin
      command.last   = 1'b1;
      command.length = total;
    end
    command.bad = bad || command.length < LENGTH_BITS'(virtio_pkg::MIN_FRAME_BYTES);
  end

  always_ff @(posedge clk) begin
    if (take) begin
      head    <= s_piece.head;
      ends    <= s_piece.last;
      address <= s_piece.address + 64'(skipped);
      left    <= rest[LENGTH_BITS-1:0];
    end else if (read_accept) begin
      address <= address + 64'(burst);
      left    <= left - LENGTH_BITS'(burst);
    end
    if (read_accept) commands[command_write[CHAIN_BITS-1:0]] <= command;
    if (rst || !run) begin
      state         <= PIECE;
      header_left   <= 4'(virtio_pkg::HEADER_BYTES);
      bad           <= 1'b0;
      total         <= '0;
      command_write <= '0;
      chains        <= '0;
    end else begin
      if (take) begin
        if (!piece_bad && rest != '0) state <= BURST;
        else if (s_piece.last) state <= EMPTY;
      end else if (read_accept && (state == EMPTY || burst_last)) begin
        state <= PIECE;
      end
      if (chain_requested) begin
        header_left <= 4'(virtio_pkg::HEADER_BYTES);
        bad         <= 1'b0;
        total       <= '0;
      end else begin
        if (take) header_left <= header_left - skipped;
        if (take) bad <= piece_bad;
        if (read_accept) total <= total_next;
      end
      command_write <= command_write + (CHAIN_BITS + 1)'(read_accept);
      chains        <= chains + (CHAIN_BITS + 1)'(chain_requested)
          - (CHAIN_BITS + 1)'(frame_end);
    end
  end

  // Responses: bytes of a word move to their place in the frame.
  assign beat         = run && response;
  assign current      = commands[command_read[CHAIN_BITS-1:0]];
  assign bytes_before = in_burst ? bytes_left : current.bytes;
  assign offset       = in_burst ? '0 : current.offset;
  assign taken        = bytes_before < (BURST_BITS + 1)'((BYTES) - 32'(offset))
      ? bytes_before[OFFSET_BITS:0] : (OFFSET_BITS + 1)'(BYTES) - (OFFSET_BITS + 1)'(offset);
  assign sum          = (OFFSET_BITS + 1)'(fill) + taken;
  assign turn         = offset - fill;
  assign frame_end    = beat && response_last && current.last;
  assign drop         = current.bad || failed || response_error || !link_up;
  assign commit       = frame_end && !drop;
  assign complete     = beat && (sum[OFFSET_BITS] || (frame_end && sum != '0));
  assign second       = frame_end && sum > (OFFSET_BITS + 1)'(BYTES);

  always_comb begin
    rotated = '0;
    merged  = '0;
    if (beat) begin
      rotated = (8 * BYTES)'({response_data, response_data} >> {turn, 3'd0});
      merged  = '1;
      merged  = merged << {fill, 3'd0};
      merged  = (rotated & merged) | (residue & ~merged);
    end
  end

  assign used_valid    = frame_end;
  assign used          = {32'd0, current.head};
  assign event_frame   = commit;
  assign event_length  = 16'(current.length);
  assign event_dropped = frame_end && drop;
  assign event_bad     = frame_end && (current.bad || failed || response_error);

  // At most two words a cycle: one of them waits. A frame has no more words than beats, so a beat
  // that makes two words comes after one that made none, and never finds a word that waits.
  assign ram_write     = pending || complete;
  assign produced_next = produced + (WORD_BITS + 1)'(complete) + (WORD_BITS + 1)'(second);

  ram_sdp #(
      .WIDTH(8 * BYTES),
      .DEPTH(WORDS)
  ) ram (
      .clk,
      .write_enable (ram_write),
      .write_address(pending ? pending_address : produced[WORD_BITS-1:0]),
      .write_data   (pending ? pending_data : merged),
      .read_enable  (load),
      .read_address (consumed[WORD_BITS-1:0]),
      .read_data    (m_data)
  );

  always_ff @(posedge clk) begin
    if (beat) residue <= sum[OFFSET_BITS] ? rotated : merged;
    if (second) pending_data <= rotated;
    else if (complete) pending_data <= merged;
    pending_address  <= second ? produced[WORD_BITS-1:0] + 1'b1 : produced[WORD_BITS-1:0];
    committed_length <= current.length;
    if (rst) begin
      pending     <= 1'b0;
      committed   <= 1'b0;
      frame_start <= '0;
      produced    <= '0;
    end else begin
      pending     <= second || (pending && complete);
      committed   <= commit;
      if (commit) frame_start <= produced_next;
      if (!run || (frame_end && drop)) produced <= frame_start;
      else produced <= produced_next;
    end
    if (rst || !run) begin
      command_read <= '0;
      in_burst     <= 1'b0;
      fill         <= '0;
      failed       <= 1'b0;
      reserved     <= '0;
    end else begin
      if (beat) begin
        bytes_left <= bytes_before - (BURST_BITS + 1)'(taken);
        in_burst   <= !response_last;
        fill       <= frame_end ? '0 : sum[OFFSET_BITS-1:0];
        failed     <= !frame_end && (failed || response_error);
      end
      command_read <= command_read + (CHAIN_BITS + 1)'(beat && response_last);
      reserved     <= reserved + (read_accept && state == BURST ? words_new : '0)
          - (frame_end ? words_of(current.length) : '0);
    end
  end

  // Frames leave.
  assign frames      = length_write - length_read;
  assign next_length = lengths[length_read[CHAIN_BITS-1:0]];
  assign load        = (!m_valid || m_ready) && (words_left != '0 || length_read != length_write);
  assign begins      = load && words_left == '0;

  always_ff @(posedge clk) begin
    if (committed) lengths[length_write[CHAIN_BITS-1:0]] <= committed_length;
    if (load) m_last <= begins ? words_of(next_length) == 1 : words_left == 1;
    if (begins) m_meta <= {16'(next_length), 16'd0};
    if (rst) begin
      m_valid      <= 1'b0;
      words_left   <= '0;
      consumed     <= '0;
      length_write <= '0;
      length_read  <= '0;
    end else begin
      m_valid      <= load || (m_valid && !m_ready);
      consumed     <= consumed + (WORD_BITS + 1)'(load);
      length_write <= length_write + (CHAIN_BITS + 1)'(committed);
      length_read  <= length_read + (CHAIN_BITS + 1)'(begins);
      if (begins) words_left <= words_of(next_length) - 1'b1;
      else if (load) words_left <= words_left - 1'b1;
    end
  end

  logic unused;
  assign unused = &{1'b0, setup};
endmodule
