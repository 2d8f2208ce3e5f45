// Packet Classifier (paper, section II-B, figure 2): finds the frames for LaKe.
// Throughput: one word a cycle. Latency: two cycles (the second word of a frame decides).
//
// Kinds are those of frame_classifier, by the port at which a frame arrives: one with servers or one
// without. Every frame is NORMAL while the cache is off. A frame that is corrupt (frame_check) is
// known with its last word: nothing acts before that.
// `foreign_write` is high for one cycle when the last word of an OPAQUE frame that is not corrupt is
// at the output, and when the cache is switched on: what LaKe holds may be stale.
module packet_classifier #(
    parameter int BYTES = 32,       // 32 or 64
    parameter int WINDOW_LOG2 = 16  // of the rate of queries, in cycles
) (
    input  logic                     clk,
    input  logic                     rst,

    input  netfpga_pkg::cache_mode_t mode,
    input  logic [15:0]              memcached_port,
    input  logic [7:0]               server_ports,  // mask; the host port of a NIC
    input  logic [31:0]              threshold_on,  // queries in a window, for CACHE_ADAPTIVE
    input  logic [31:0]              threshold_off,
    output logic                     enabled,
    output logic [31:0]              rate,          // queries in the last window, in every mode
    output logic                     foreign_write,
    output logic                     corrupt_frame,  // pulse: one that is not NORMAL has passed
    input  logic [31:0]              skip = '0,     // further cycles that pass; see rate_monitor

    input  logic                     s_valid,
    output logic                     s_ready,
    input  logic [8*BYTES-1:0]       s_data,
    input  logic                     s_last,
    input  net_pkg::meta_t           s_meta,

    output logic                     m_valid,
    input  logic                     m_ready,
    output logic [8*BYTES-1:0]       m_data,
    output logic                     m_last,
    output net_pkg::meta_t           m_meta,
    output memcached_pkg::kind_t          m_kind,
    output logic                     m_corrupt      // with the last word
);
  // ---- a frame's first word waits for its second -----------------------------------------------
  logic               held_valid;
  logic [8*BYTES-1:0] held_data;
  logic               held_first;
  logic               held_last;
  net_pkg::meta_t     held_meta;
  logic               next_first;  // the next word from s_ begins a frame
  logic               advance;     // of the held word to m_
  logic               decide;      // the kind of the frame of the held word
  logic [511:0]       header;      // the first 64 bytes; 0 without `decide`

  assign advance = held_valid && (!m_valid || m_ready)
      && (!held_first || held_last || s_valid || BYTES >= 64);
  assign s_ready = !held_valid || advance;

  assign decide  = advance && held_first;

  // All that depends on the header is computed when it decides: a simulation skips it in all other
  // cycles.
  if (BYTES >= 64) begin : one_word
    always_comb begin
      header = '0;
      if (decide) header = held_data[511:0];
    end
  end else begin : two_words
    always_comb begin
      header = '0;
      if (decide) header = {held_last ? 256'd0 : s_data[255:0], held_data[255:0]};
    end
  end

  // ---- what is in the header -------------------------------------------------------------------
  memcached_pkg::kind_t found;
  memcached_pkg::kind_t kind;

  frame_classifier classify (
      .enable        (decide),
      .from_server   ((held_meta.source & server_ports) != '0),
      .memcached_port,
      .port_mask     ('0),
      .header,
      .length        (held_meta.length),
      .kind          (found)
  );

  // All frames of clients pass in one order.
  assign kind = found == memcached_pkg::KIND_ORDERED ? memcached_pkg::KIND_NORMAL : found;

  memcached_pkg::kind_t passing;  // kind of the frame at m_, also while the cache is off
  logic                 checked;  // a word of the held frame, which is not NORMAL, goes on
  logic                 ended;    // its last word has just come to m_
  logic                 corrupt;

  assign checked = advance && (held_first ? kind : passing) != memcached_pkg::KIND_NORMAL;

  frame_check #(
      .BYTES(BYTES)
  ) check (
      .clk,
      .take  (checked),
      .first (held_first),
      .header,
      .length(held_meta.length),
      .data  (held_data),
      .corrupt
  );

  assign m_corrupt     = m_kind != memcached_pkg::KIND_NORMAL && corrupt;
  assign corrupt_frame = ended && m_corrupt;

  always_ff @(posedge clk) begin
    if (s_valid && s_ready) begin
      held_data  <= s_data;
      held_first <= next_first;
      held_last  <= s_last;
      held_meta  <= s_meta;
    end
    if (advance) begin
      m_data <= held_data;
      m_last <= held_last;
      m_meta <= held_meta;
    end
    if (decide) passing <= kind;
    if (decide) m_kind <= enabled ? kind : memcached_pkg::KIND_NORMAL;
    ended <= checked && held_last && !rst;
    if (rst) begin
      held_valid <= 1'b0;
      m_valid    <= 1'b0;
      next_first <= 1'b1;
    end else begin
      if (s_ready) held_valid <= s_valid;
      if (!m_valid || m_ready) m_valid <= advance;
      if (s_valid && s_ready) next_first <= s_last;
    end
  end

  // ---- off, on, or on demand -------------------------------------------------------------------
  logic busy;
  logic enable;

  rate_monitor #(
      .WINDOW_LOG2(WINDOW_LOG2)
  ) monitor (
      .clk,
      .rst,
      .count(ended && passing == memcached_pkg::KIND_QUERY && !corrupt),
      .skip,
      .threshold_on,
      .threshold_off,
      .high (busy),
      .rate
  );

  assign enable = mode == netfpga_pkg::CACHE_ON || (mode == netfpga_pkg::CACHE_ADAPTIVE && busy);

  logic switched_on;

  assign foreign_write = switched_on || (ended && m_kind == memcached_pkg::KIND_OPAQUE && !corrupt);

  always_ff @(posedge clk) begin
    if (rst) begin
      enabled     <= 1'b0;
      switched_on <= 1'b0;
    end else begin
      enabled     <= enable;
      switched_on <= enable && !enabled;
    end
  end
endmodule
