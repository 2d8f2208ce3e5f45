// Reads the available ring of a split virtqueue: heads of chains, in order.
//
// Rules
// 1. The driver's index is read after a notification and when the queue begins; entries are read
//    only after the index that covers them.
// 2. An index that offers more entries than the queue has, or fewer than before, is an error: the
//    ring cannot be trusted.
// 3. `check` reads the driver's flags. `check_taken` is the time of the request: flags that were
//    requested before something happened say nothing about it.
//
// Entries are read in words: up to BYTES / 2 of them at once. Throughput: one head a cycle from a
// word. Latency: two reads from a notification to the first head.
module vq_avail #(
    parameter int BYTES = 64
) (
    input  logic               clk,
    input  logic               rst,

    input  logic               run,         // 0: forgets everything; reads under way do not count
    input  virtio_pkg::queue_t setup,
    input  logic               kick,        // notification
    input  logic [15:0]        used_index,  // chains that were returned
    output logic               error,

    // flags for the decision about an interrupt
    input  logic               check,         // level
    output logic               check_taken,   // pulse: the read is requested
    output logic               checked,       // pulse: its response
    output logic               no_interrupt,  // with `checked`

    // reads of index and flags, and of entries; addresses of bytes
    output logic               index_read_valid,
    input  logic               index_read_ready,
    output logic [63:0]        index_read_address,
    input  logic               index_response,
    output logic               entry_read_valid,
    input  logic               entry_read_ready,
    output logic [63:0]        entry_read_address,
    input  logic               entry_response,
    input  logic [8*BYTES-1:0] response_data,
    input  logic               response_error,

    output logic               m_valid,
    input  logic               m_ready,
    output logic [15:0]        m_head
);
  localparam int ENTRIES = BYTES / 2;  // of a word
  localparam int PLACE_BITS = $clog2(ENTRIES);

  // Index and flags.
  logic        poll_needed;
  logic        index_waiting;
  logic        polling;     // the read under way gives the index
  logic        checking;    // it answers `check`
  logic        straddles;   // flags and index are in two words
  logic        index_accept;
  logic        flags_only;  // the next read
  logic [15:0] fetch_index; // of the next head
  logic [15:0] seen;        // the driver's index
  logic [15:0] new_seen;
  logic        index_error;
  logic [PLACE_BITS-1:0] flags_place;
  logic [PLACE_BITS-1:0] index_place;

  // Entries.
  logic [ENTRIES-1:0][15:0] entries;
  logic [PLACE_BITS-1:0]    place;
  logic [PLACE_BITS:0]      left;   // in `entries`
  logic                     entry_waiting;
  logic [15:0]              slot;
  logic [63:0]              entry_address;
  logic [15:0]              available;
  logic [15:0]              until_wrap;
  logic [15:0]              until_word;
  logic [15:0]              count;
  logic [PLACE_BITS:0]      expected;  // entries of the read under way
  logic                     accept;
  logic                     entry_accept;
  logic                     entry_done;

  assign flags_place        = setup.driver[PLACE_BITS:1];
  assign index_place        = flags_place + 1'b1;
  assign straddles          = &flags_place;
  assign index_read_valid   = run && !index_waiting && (check || poll_needed);
  assign flags_only         = straddles && check;
  assign index_read_address = flags_only || !straddles ? setup.driver : setup.driver + 64'd2;
  assign index_accept       = index_read_valid && index_read_ready;

  // The words of a response, while it is there.
  always_comb begin
    new_seen     = '0;
    no_interrupt = 1'b0;
    if (index_response) begin
      new_seen     = response_data[16*index_place+:16];
      no_interrupt = response_data[16*flags_place];
    end
  end

  assign check_taken = index_accept && check && (flags_only || !straddles);
  assign checked     = run && index_response && checking && !response_error;
  assign index_error = response_error || (polling && (new_seen - used_index > setup.size
      || new_seen - used_index < fetch_index - used_index));
  assign error       = run && ((index_response && index_error)
      || (entry_response && response_error));

  assign slot               = fetch_index & (setup.size - 16'd1);
  assign entry_address      = setup.driver + 64'd4 + {47'd0, slot, 1'b0};
  assign available          = seen - fetch_index;
  assign until_wrap         = setup.size - slot;
  assign until_word         = 16'(ENTRIES) - 16'(entry_address[PLACE_BITS:1]);
  assign entry_read_valid   = run && !entry_waiting && left == '0 && available != '0;
  assign entry_read_address = entry_address;
  assign entry_accept       = entry_read_valid && entry_read_ready;
  assign entry_done         = entry_response && entry_waiting && !response_error;

  always_comb begin
    count = available;
    if (until_wrap < count) count = until_wrap;
    if (until_word < count) count = until_word;
  end

  assign m_valid = run && left != '0;
  assign m_head  = entries[place];
  assign accept  = m_valid && m_ready;

  always_ff @(posedge clk) begin
    if (index_accept) begin
      polling  <= !flags_only;
      checking <= check_taken;
    end
    if (entry_accept) expected <= count[PLACE_BITS:0];
    if (entry_done) entries <= response_data;
    if (entry_accept) place <= entry_address[PLACE_BITS:1];
    else if (accept) place <= place + 1'b1;
    if (rst || !run) begin
      poll_needed   <= 1'b1;
      index_waiting <= 1'b0;
      entry_waiting <= 1'b0;
      left          <= '0;
      fetch_index   <= setup.start;
      seen          <= setup.start;
    end else begin
      poll_needed   <= kick || (poll_needed && !(index_accept && !flags_only));
      index_waiting <= index_accept || (index_waiting && !index_response);
      entry_waiting <= entry_accept || (entry_waiting && !entry_response);
      fetch_index   <= fetch_index + 16'(accept);
      if (index_response && polling) seen <= new_seen;
      if (entry_done) left <= expected;
      else left <= left - (PLACE_BITS + 1)'(accept);
    end
  end

  logic unused;
  assign unused = &{1'b0, setup};
endmodule
