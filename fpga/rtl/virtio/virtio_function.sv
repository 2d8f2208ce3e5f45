// A virtio network device function (virtio 1.2, split virtqueues): moves frames between buffers of
// its driver in host memory and two streams.
//
//              registers (BAR 0)          queue 1: avail -> walker -> transmit -> m_
//   driver --> virtio_registers           queue 0: avail -> walker -> receive <-- s_
//      ^                                                  |   used    |
//      +------ interrupts                      read mux     write mux --> host memory
//
// Rules
// 1. The device writes only to buffers that a chain offers for writing, and to used rings.
// 2. A ring that cannot be trusted, or a write that fails, stops the device until a reset
//    (DEVICE_NEEDS_RESET). A chain that cannot be used is returned, and its frame dropped.
// 3. The device status reads as 0 after a reset only when nothing more is written.
//
// The streams carry whole frames: behind s_ whole frames must wait. Frames for the driver wait in
// front while it has offered no buffer; without a driver they are dropped.
module virtio_function #(
    parameter int BYTES = 64,        // of a word
    parameter int QUEUE_SIZE = 256,  // largest size of a queue; a power of two
    parameter int FUNCTION = 0       // its number
) (
    input  logic                            clk,
    input  logic                            rst,

    // registers
    input  logic                            bar_select,
    input  logic [15:0]                     bar_address,
    input  logic                            bar_write,
    input  logic [3:0]                      bar_strobe,
    input  logic [31:0]                     bar_wdata,
    input  logic                            bar_read,
    output logic [31:0]                     bar_rdata,

    input  logic [47:0]                     mac,  // the first byte on the wire is mac[7:0]
    input  logic                            link_up,

    output logic [2:0]                      irq,  // configuration, receive, transmit
    output logic [2:0][15:0]                irq_vector,
    output logic                            irq_pin,

    output logic                            idle,  // nothing moves; it waits for memory or a frame

    // frames that the guest sends
    output logic                            m_valid,
    input  logic                            m_ready,
    output logic [8*BYTES-1:0]              m_data,
    output logic                            m_last,
    output net_pkg::meta_t                  m_meta,

    // frames for the guest
    input  logic                            s_valid,
    output logic                            s_ready,
    input  logic [8*BYTES-1:0]              s_data,
    input  logic                            s_last,
    input  net_pkg::meta_t                  s_meta,

    // host memory
    output logic [7:0]                      m_axi_awid,
    output logic [63:0]                     m_axi_awaddr,
    output logic [7:0]                      m_axi_awlen,
    output logic [2:0]                      m_axi_awsize,
    output logic [1:0]                      m_axi_awburst,
    output logic                            m_axi_awvalid,
    input  logic                            m_axi_awready,
    output logic [8*BYTES-1:0]              m_axi_wdata,
    output logic [BYTES-1:0]                m_axi_wstrb,
    output logic                            m_axi_wlast,
    output logic                            m_axi_wvalid,
    input  logic                            m_axi_wready,
    input  logic [7:0]                      m_axi_bid,
    input  logic [1:0]                      m_axi_bresp,
    input  logic                            m_axi_bvalid,
    output logic                            m_axi_bready,
    output logic [7:0]                      m_axi_arid,
    output logic [63:0]                     m_axi_araddr,
    output logic [7:0]                      m_axi_arlen,
    output logic [2:0]                      m_axi_arsize,
    output logic [1:0]                      m_axi_arburst,
    output logic                            m_axi_arvalid,
    input  logic                            m_axi_arready,
    input  logic [7:0]                      m_axi_rid,
    input  logic [8*BYTES-1:0]              m_axi_rdata,
    input  logic [1:0]                      m_axi_rresp,
    input  logic                            m_axi_rlast,
    input  logic                            m_axi_rvalid,
    output logic                            m_axi_rready,

    output virtio_pkg::function_counters_t counters
);
  localparam int CHAINS = 64;
  localparam int LEVEL_BITS = $clog2(CHAINS) + 1;

  // Readers: index, entries and descriptors of each queue, and buffers to send.
  localparam int READERS = 7;
  localparam int INDEX_READER = 0;  // + queue
  localparam int ENTRY_READER = 2;  // + queue
  localparam int CHAIN_READER = 4;  // + queue
  localparam int FRAME_READER = 6;

  // Writers: used rings, and buffers to fill.
  localparam int WRITERS = 3;
  localparam int USED_WRITER = 0;  // + queue
  localparam int FRAME_WRITER = 2;

  logic [1:0]         run;
  logic [1:0]         kick;
  logic [1:0][15:0]   used_index;
  logic [1:0]         avail_error;
  logic [1:0]         walker_error;
  logic [1:0]         used_error;
  logic               write_error;
  logic [1:0]         queue_interrupt;
  virtio_pkg::queue_t receive_queue;
  virtio_pkg::queue_t transmit_queue;

  logic [READERS-1:0]                read_valid;
  logic [READERS-1:0]                read_ready;
  logic [READERS-1:0][63:0]          read_address;
  logic [READERS-1:0][7:0]           read_beats;
  logic [READERS-1:0]                read_response;
  logic                              read_error;
  logic                              reads_quiet;
  logic [WRITERS-1:0]                write_valid;
  logic [WRITERS-1:0]                write_ready;
  logic [WRITERS-1:0][63:0]          write_address;
  logic [WRITERS-1:0][7:0]           write_beats;
  logic [WRITERS-1:0][1:0]           write_kind;
  logic [WRITERS-1:0]                data_valid;
  logic [WRITERS-1:0]                data_ready;
  logic [WRITERS-1:0][8*BYTES-1:0]   data;
  logic [WRITERS-1:0][BYTES-1:0]     data_strobe;
  logic [WRITERS-1:0]                data_last;
  logic [WRITERS-1:0]                write_response;
  virtio_pkg::write_kind_t           write_response_kind;
  logic                              write_response_error;
  logic                              writes_quiet;

  logic [1:0]                        piece_valid;
  logic [1:0]                        piece_ready;
  virtio_pkg::piece_t                receive_piece;
  virtio_pkg::piece_t                transmit_piece;
  logic [1:0]                        used_valid;
  logic [1:0]                        used_ready;
  virtio_pkg::used_t                 receive_used;
  virtio_pkg::used_t                 transmit_used;
  logic [1:0][LEVEL_BITS-1:0]        used_level;
  logic [1:0]                        head_moves;

  assign idle = read_valid == '0 && write_valid == '0 && data_valid == '0 && used_valid == '0
      && head_moves == '0 && (piece_valid & piece_ready) == '0 && queue_interrupt == '0
      && irq == '0 && !m_valid && !s_valid && !m_axi_awvalid && !m_axi_wvalid && !m_axi_arvalid;

  logic        tx_frame;
  logic [15:0] tx_length;
  logic        tx_dropped;
  logic        tx_bad;
  logic        rx_frame;
  logic [15:0] rx_length;
  logic        rx_dropped;
  logic        rx_bad;

  virtio_registers #(
      .QUEUE_SIZE(QUEUE_SIZE)
  ) registers (
      .clk,
      .rst,
      .bar_select,
      .bar_address,
      .bar_write,
      .bar_strobe,
      .bar_wdata,
      .bar_read,
      .bar_rdata,
      .mac,
      .link_up,
      .run,
      .receive_queue,
      .transmit_queue,
      .kick,
      .used_index,
      .error(avail_error != '0 || walker_error != '0 || used_error != '0 || write_error),
      .quiet(reads_quiet && writes_quiet),
      .queue_interrupt,
      .irq,
      .irq_vector,
      .irq_pin
  );

  // The rings of both queues.
  for (genvar q = 0; q < virtio_pkg::QUEUES; q++) begin : queues
    virtio_pkg::queue_t      setup;
    virtio_pkg::piece_t      piece;
    virtio_pkg::used_t       used;
    virtio_pkg::write_kind_t kind;
    logic                    head_valid;
    logic                    head_ready;
    logic [15:0]             head;
    logic                    check;
    logic                    check_taken;
    logic                    checked;
    logic                    no_interrupt;

    assign head_moves[q] = head_valid && head_ready;

    assign setup = q == virtio_pkg::RECEIVE ? receive_queue : transmit_queue;
    assign used  = q == virtio_pkg::RECEIVE ? receive_used : transmit_used;

    vq_avail #(
        .BYTES(BYTES)
    ) avail (
        .clk,
        .rst,
        .run               (run[q]),
        .setup,
        .kick              (kick[q]),
        .used_index        (used_index[q]),
        .error             (avail_error[q]),
        .check,
        .check_taken,
        .checked,
        .no_interrupt,
        .index_read_valid  (read_valid[INDEX_READER+q]),
        .index_read_ready  (read_ready[INDEX_READER+q]),
        .index_read_address(read_address[INDEX_READER+q]),
        .index_response    (read_response[INDEX_READER+q]),
        .entry_read_valid  (read_valid[ENTRY_READER+q]),
        .entry_read_ready  (read_ready[ENTRY_READER+q]),
        .entry_read_address(read_address[ENTRY_READER+q]),
        .entry_response    (read_response[ENTRY_READER+q]),
        .response_data     (m_axi_rdata),
        .response_error    (read_error),
        .m_valid           (head_valid),
        .m_ready           (head_ready),
        .m_head            (head)
    );

    vq_walker #(
        .BYTES(BYTES)
    ) walker (
        .clk,
        .rst,
        .run           (run[q]),
        .setup,
        .error         (walker_error[q]),
        .s_valid       (head_valid),
        .s_ready       (head_ready),
        .s_head        (head),
        .read_valid    (read_valid[CHAIN_READER+q]),
        .read_ready    (read_ready[CHAIN_READER+q]),
        .read_address  (read_address[CHAIN_READER+q]),
        .response      (read_response[CHAIN_READER+q]),
        .response_data (m_axi_rdata),
        .response_error(read_error),
        .m_valid       (piece_valid[q]),
        .m_ready       (piece_ready[q]),
        .m_piece       (piece)
    );

    vq_used #(
        .BYTES(BYTES),
        .DEPTH(CHAINS)
    ) used_ring (
        .clk,
        .rst,
        .run           (run[q]),
        .setup,
        .used_index    (used_index[q]),
        .error         (used_error[q]),
        .s_valid       (used_valid[q]),
        .s_ready       (used_ready[q]),
        .s_used        (used),
        .level         (used_level[q]),
        .write_valid   (write_valid[USED_WRITER+q]),
        .write_ready   (write_ready[USED_WRITER+q]),
        .write_address (write_address[USED_WRITER+q]),
        .write_kind    (kind),
        .data_valid    (data_valid[USED_WRITER+q]),
        .data_ready    (data_ready[USED_WRITER+q]),
        .data          (data[USED_WRITER+q]),
        .data_strobe   (data_strobe[USED_WRITER+q]),
        .response      (write_response[USED_WRITER+q]),
        .response_kind (write_response_kind),
        .response_error(write_response_error),
        .check,
        .check_taken,
        .checked,
        .no_interrupt,
        .notify        (queue_interrupt[q])
    );

    assign read_beats[INDEX_READER+q] = '0;
    assign read_beats[ENTRY_READER+q] = '0;
    assign read_beats[CHAIN_READER+q] = '0;
    assign write_beats[USED_WRITER+q] = '0;
    assign write_kind[USED_WRITER+q]  = kind;
    assign data_last[USED_WRITER+q]   = 1'b1;
  end

  assign receive_piece  = queues[0].piece;
  assign transmit_piece = queues[1].piece;

  virtio_transmit #(
      .BYTES (BYTES),
      .CHAINS(CHAINS)
  ) transmit (
      .clk,
      .rst,
      .run           (run[virtio_pkg::TRANSMIT]),
      .setup         (transmit_queue),
      .link_up,
      .s_valid       (piece_valid[virtio_pkg::TRANSMIT]),
      .s_ready       (piece_ready[virtio_pkg::TRANSMIT]),
      .s_piece       (transmit_piece),
      .read_valid    (read_valid[FRAME_READER]),
      .read_ready    (read_ready[FRAME_READER]),
      .read_address  (read_address[FRAME_READER]),
      .read_beats    (read_beats[FRAME_READER]),
      .response      (read_response[FRAME_READER]),
      .response_data (m_axi_rdata),
      .response_last (m_axi_rlast),
      .response_error(read_error),
      .used_valid    (used_valid[virtio_pkg::TRANSMIT]),
      .used          (transmit_used),
      .used_level    (used_level[virtio_pkg::TRANSMIT]),
      .m_valid,
      .m_ready,
      .m_data,
      .m_last,
      .m_meta,
      .event_frame   (tx_frame),
      .event_length  (tx_length),
      .event_dropped (tx_dropped),
      .event_bad     (tx_bad)
  );

  virtio_receive #(
      .BYTES(BYTES)
  ) receive (
      .clk,
      .rst,
      .run          (run[virtio_pkg::RECEIVE]),
      .s_valid,
      .s_ready,
      .s_data,
      .s_last,
      .s_meta,
      .piece_valid  (piece_valid[virtio_pkg::RECEIVE]),
      .piece_ready  (piece_ready[virtio_pkg::RECEIVE]),
      .piece        (receive_piece),
      .write_valid  (write_valid[FRAME_WRITER]),
      .write_ready  (write_ready[FRAME_WRITER]),
      .write_address(write_address[FRAME_WRITER]),
      .write_beats  (write_beats[FRAME_WRITER]),
      .data_valid   (data_valid[FRAME_WRITER]),
      .data_ready   (data_ready[FRAME_WRITER]),
      .data         (data[FRAME_WRITER]),
      .data_strobe  (data_strobe[FRAME_WRITER]),
      .data_last    (data_last[FRAME_WRITER]),
      .used_valid   (used_valid[virtio_pkg::RECEIVE]),
      .used_ready   (used_ready[virtio_pkg::RECEIVE]),
      .used         (receive_used),
      .event_frame  (rx_frame),
      .event_length (rx_length),
      .event_dropped(rx_dropped),
      .event_bad    (rx_bad)
  );

  assign write_kind[FRAME_WRITER] = virtio_pkg::WRITE_FRAME;
  assign write_error = write_response[FRAME_WRITER] && write_response_error;

  dma_read_mux #(
      .BYTES  (BYTES),
      .READERS(READERS)
  ) read_mux (
      .clk,
      .rst,
      .s_valid       (read_valid),
      .s_ready       (read_ready),
      .s_address     (read_address),
      .s_beats       (read_beats),
      .response      (read_response),
      .response_error(read_error),
      .quiet         (reads_quiet),
      .m_axi_arid,
      .m_axi_araddr,
      .m_axi_arlen,
      .m_axi_arsize,
      .m_axi_arburst,
      .m_axi_arvalid,
      .m_axi_arready,
      .m_axi_rid,
      .m_axi_rresp,
      .m_axi_rlast,
      .m_axi_rvalid,
      .m_axi_rready
  );

  dma_write_mux #(
      .BYTES  (BYTES),
      .WRITERS(WRITERS)
  ) write_mux (
      .clk,
      .rst,
      .s_valid       (write_valid),
      .s_ready       (write_ready),
      .s_address     (write_address),
      .s_beats       (write_beats),
      .s_kind        (write_kind),
      .s_data_valid  (data_valid),
      .s_data_ready  (data_ready),
      .s_data        (data),
      .s_data_strobe (data_strobe),
      .s_data_last   (data_last),
      .response      (write_response),
      .response_kind (write_response_kind),
      .response_error(write_response_error),
      .quiet         (writes_quiet),
      .m_axi_awid,
      .m_axi_awaddr,
      .m_axi_awlen,
      .m_axi_awsize,
      .m_axi_awburst,
      .m_axi_awvalid,
      .m_axi_awready,
      .m_axi_wdata,
      .m_axi_wstrb,
      .m_axi_wlast,
      .m_axi_wvalid,
      .m_axi_wready,
      .m_axi_bresp,
      .m_axi_bvalid,
      .m_axi_bready
  );

  always_ff @(posedge clk) begin
    if (rst) begin
      counters <= '0;
    end else begin
      counters.tx_frames     <= counters.tx_frames + 32'(tx_frame);
      counters.tx_dropped    <= counters.tx_dropped + 32'(tx_dropped);
      counters.tx_bad_chains <= counters.tx_bad_chains + 32'(tx_bad);
      counters.rx_frames     <= counters.rx_frames + 32'(rx_frame);
      counters.rx_dropped    <= counters.rx_dropped + 32'(rx_dropped);
      counters.rx_bad_chains <= counters.rx_bad_chains + 32'(rx_bad);
      if (tx_frame) counters.tx_bytes <= counters.tx_bytes + 64'(tx_length);
      if (rx_frame) counters.rx_bytes <= counters.rx_bytes + 64'(rx_length);
    end
  end

  // The arbiter sets the user signals, so nothing depends on the number of the function. Writes have
  // one id.
  logic unused;
  assign unused = &{1'b0, m_axi_bid, 4'(FUNCTION)};
endmodule
