// A FIFO of whole frames. A frame is offered to the reader when its last word is in the FIFO.
// Throughput: one word a cycle. Latency: two cycles after the last word (CUT_THROUGH: after each).
//
// A FIFO without space for the next word:
//   DROP = 0  stalls the writer. A frame longer than the FIFO is then offered in parts.
//   DROP = 1  takes and discards the whole frame, and counts it. The writer never stalls.
module frame_fifo #(
    parameter int BYTES = 32,
    parameter int META_BITS = net_pkg::META_BITS,
    parameter int DEPTH = 64,  // words; a power of two, at least 2
    parameter bit DROP = 1'b0,
    parameter bit CUT_THROUGH = 1'b0  // offer each word at once; only with DROP = 0
) (
    input  logic                   clk,
    input  logic                   rst,

    input  logic                   s_valid,
    output logic                   s_ready,
    input  logic [8*BYTES-1:0]     s_data,
    input  logic                   s_last,
    input  logic [META_BITS-1:0]   s_meta,

    output logic                   m_valid,
    input  logic                   m_ready,
    output logic [8*BYTES-1:0]     m_data,
    output logic                   m_last,
    output logic [META_BITS-1:0]   m_meta,

    output logic [$clog2(DEPTH):0] level,     // words in the RAM, with those of an unfinished frame
    output logic [31:0]            accepted,  // frames that arrived whole
    output logic [31:0]            dropped    // frames that found no space
);
  localparam int ADDRESS_BITS = $clog2(DEPTH);

  // Pointers have one more bit than addresses, so that full and empty differ.
  logic [ADDRESS_BITS:0] write_pointer;
  logic [ADDRESS_BITS:0] committed;  // the reader may read up to here
  logic [ADDRESS_BITS:0] read_pointer;
  logic                  full;
  logic                  discarding;  // the rest of a dropped frame
  logic                  write;
  logic                  drop;        // the frame of this word
  logic                  read;

  assign level   = write_pointer - read_pointer;
  assign full    = level == (ADDRESS_BITS + 1)'(DEPTH);
  assign s_ready = DROP || !full;
  assign write   = s_valid && !full && !discarding;
  assign drop    = DROP && s_valid && full && !discarding;
  assign read    = (!m_valid || m_ready) && read_pointer != committed;

  ram_sdp #(
      .WIDTH(8 * BYTES + META_BITS + 1),
      .DEPTH(DEPTH)
  ) ram (
      .clk,
      .write_enable (write),
      .write_address(write_pointer[ADDRESS_BITS-1:0]),
      .write_data   ({s_last, s_meta, s_data}),
      .read_enable  (read),
      .read_address (read_pointer[ADDRESS_BITS-1:0]),
      .read_data    ({m_last, m_meta, m_data})
  );

  // Each register has one assignment: a simulation then needs no second copy of it.
  always_ff @(posedge clk) begin
    if (rst) begin
      write_pointer <= '0;
      committed     <= '0;
      read_pointer  <= '0;
      discarding    <= 1'b0;
      m_valid       <= 1'b0;
      accepted      <= '0;
      dropped       <= '0;
    end else begin
      m_valid      <= read || (m_valid && !m_ready);
      read_pointer <= read_pointer + (ADDRESS_BITS + 1)'(read);

      // A frame that is dropped: take back its words, and skip the rest of it.
      write_pointer <= drop ? committed : write_pointer + (ADDRESS_BITS + 1)'(write);
      discarding    <= drop ? !s_last : discarding && !(s_valid && s_last);
      accepted      <= accepted + 32'(write && s_last);
      dropped       <= dropped + 32'(drop);
      if (write && (s_last || CUT_THROUGH)) committed <= write_pointer + 1'b1;
      else if (!DROP && full) committed <= write_pointer;
    end
  end
endmodule
