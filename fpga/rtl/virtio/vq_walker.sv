// Walks the descriptor chains of a split virtqueue. Several chains are read at once, so that the
// latency of host memory is hidden; their descriptors leave in the order of the chains.
//
// Rules
// 1. A head or a next field that is not an index of the table, or a chain with more descriptors than
//    the table has, is an error: the ring cannot be trusted.
// 2. An indirect descriptor ends its chain, which is then bad.
//
// A read brings a word of four descriptors. A next descriptor in the same word costs no read.
// Throughput: one descriptor a cycle. Latency: one read for a head, one for each jump.
module vq_walker #(
    parameter int BYTES = 64,
    parameter int SLOTS = 16,  // chains at once; a power of two
    parameter int DEPTH = 4    // descriptors of a chain that wait; a power of two
) (
    input  logic               clk,
    input  logic               rst,

    input  logic               run,  // 0: forgets everything; reads under way do not count
    input  virtio_pkg::queue_t setup,
    output logic               error,

    input  logic               s_valid,
    output logic               s_ready,
    input  logic [15:0]        s_head,

    output logic               read_valid,
    input  logic               read_ready,
    output logic [63:0]        read_address,
    input  logic               response,
    input  logic [8*BYTES-1:0] response_data,
    input  logic               response_error,

    output logic               m_valid,
    input  logic               m_ready,
    output virtio_pkg::piece_t m_piece
);
  localparam int SLOT_BITS = $clog2(SLOTS);
  localparam int DEPTH_BITS = $clog2(DEPTH);
  localparam int PLACE_BITS = $clog2(BYTES / 16);

  typedef struct packed {
    logic [15:0] next;
    logic [15:0] flags;
    logic [31:0] length;
    logic [63:0] address;
  } descriptor_t;

  typedef struct packed {
    logic        last;
    logic        write;
    logic        bad;
    logic [31:0] length;
    logic [63:0] address;
  } entry_t;
  localparam int ENTRY_BITS = 99;

  // Chains in work, in a ring.
  logic [SLOT_BITS:0]             first;
  logic [SLOT_BITS:0]             behind;
  logic [SLOTS-1:0]               need;   // the next descriptor must be read
  logic [SLOTS-1:0]               space;  // for a descriptor
  logic [SLOTS-1:0][15:0]         heads;
  logic [SLOTS-1:0][15:0]         index;  // of the next descriptor
  logic [SLOTS-1:0][15:0]         count;  // of descriptors so far
  logic [SLOTS-1:0][DEPTH_BITS:0] write_pointer;
  logic [SLOTS-1:0][DEPTH_BITS:0] read_pointer;
  logic [ENTRY_BITS-1:0]          entries[SLOTS*DEPTH];  // yosys takes no arrays of structs

  // Reads under way, in order.
  logic [SLOTS-1:0][SLOT_BITS-1:0] order;
  logic [SLOT_BITS:0]              order_write;
  logic [SLOT_BITS:0]              order_read;

  logic                 alloc;
  logic                 head_error;
  logic [SLOTS-1:0]     grant;
  logic [SLOT_BITS-1:0] granted;
  logic                 read_accept;

  // The descriptor in work: of a response, or the next one of the last response.
  logic                  held_valid;
  logic [SLOT_BITS-1:0]  held_slot;
  logic [8*BYTES-1:0]    held_word;
  logic                  work;
  logic [SLOT_BITS-1:0]  work_slot;
  logic [PLACE_BITS-1:0] work_place;
  descriptor_t           descriptor;
  logic                  indirect;
  logic                  ends;
  logic [16:0]           here;   // places of this descriptor and of the next one, from the first
  logic [16:0]           there;  // word of the table
  logic                  same_word;
  logic                  work_error;
  logic [SLOT_BITS-1:0]  out_slot;
  entry_t                out;
  logic                  pop;

  assign s_ready    = run && behind - first != (SLOT_BITS + 1)'(SLOTS);
  assign alloc      = s_valid && s_ready;
  assign head_error = alloc && s_head >= setup.size;

  // The next read.
  always_comb begin
    for (int i = 0; i < SLOTS; i++) begin
      space[i] = write_pointer[i] - read_pointer[i] != (DEPTH_BITS + 1)'(DEPTH);
    end
  end

  round_robin_arbiter #(
      .REQUESTS(SLOTS)
  ) arbiter (
      .clk,
      .rst,
      .request(need & space),
      .grant,
      .accept (read_ready)
  );

  always_comb begin
    granted = '0;
    for (int i = 0; i < SLOTS; i++) begin
      if (grant[i]) granted = granted | SLOT_BITS'(i);
    end
  end

  assign read_valid   = run && grant != '0;
  assign read_address = setup.desc + {44'd0, index[granted], 4'd0};
  assign read_accept  = read_valid && read_ready;

  // The descriptor in work.
  assign work       = run && (response || (held_valid && space[held_slot]));
  assign work_slot  = response ? order[order_read[SLOT_BITS-1:0]] : held_slot;
  assign work_place = here[PLACE_BITS-1:0];

  always_comb begin
    descriptor = '0;
    if (response) descriptor = response_data[128*work_place+:128];
    else if (held_valid) descriptor = held_word[128*work_place+:128];
  end

  assign indirect   = descriptor.flags[virtio_pkg::FLAG_INDIRECT];
  assign ends       = indirect || !descriptor.flags[virtio_pkg::FLAG_NEXT];
  assign here       = {1'b0, index[work_slot]} + 17'(setup.desc[4+:PLACE_BITS]);
  assign there      = {1'b0, descriptor.next} + 17'(setup.desc[4+:PLACE_BITS]);
  assign same_word  = there[16:PLACE_BITS] == here[16:PLACE_BITS];
  assign work_error = work && ((response && response_error)
      || (!ends && (descriptor.next >= setup.size || count[work_slot] >= setup.size - 16'd1)));
  assign error      = run && (head_error || work_error);

  // The oldest chain leaves.
  assign out_slot = first[SLOT_BITS-1:0];
  assign m_valid  = run && first != behind && write_pointer[out_slot] != read_pointer[out_slot];
  assign out      = entries[{out_slot, read_pointer[out_slot][DEPTH_BITS-1:0]}];
  assign m_piece  = {heads[out_slot], out};
  assign pop      = m_valid && m_ready;

  always_ff @(posedge clk) begin
    if (work) begin
      entries[{work_slot, write_pointer[work_slot][DEPTH_BITS-1:0]}] <= {
        ends, descriptor.flags[virtio_pkg::FLAG_WRITE], indirect, descriptor.length,
        descriptor.address
      };
      index[work_slot]         <= descriptor.next;
      count[work_slot]         <= count[work_slot] + 16'd1;
      write_pointer[work_slot] <= write_pointer[work_slot] + 1'b1;
    end
    if (pop) read_pointer[out_slot] <= read_pointer[out_slot] + 1'b1;
    if (alloc) begin
      heads[behind[SLOT_BITS-1:0]]         <= s_head;
      index[behind[SLOT_BITS-1:0]]         <= s_head;
      count[behind[SLOT_BITS-1:0]]         <= '0;
      write_pointer[behind[SLOT_BITS-1:0]] <= '0;
      read_pointer[behind[SLOT_BITS-1:0]]  <= '0;
    end
    if (read_accept) order[order_write[SLOT_BITS-1:0]] <= granted;
    if (response) held_word <= response_data;
    held_slot <= work_slot;
    if (rst || !run) begin
      first       <= '0;
      behind      <= '0;
      need        <= '0;
      order_write <= '0;
      order_read  <= '0;
      held_valid  <= 1'b0;
    end else begin
      behind      <= behind + (SLOT_BITS + 1)'(alloc);
      first       <= first + (SLOT_BITS + 1)'(pop && out.last);
      order_write <= order_write + (SLOT_BITS + 1)'(read_accept);
      order_read  <= order_read + (SLOT_BITS + 1)'(response);
      held_valid  <= work && !ends && same_word && !work_error;
      if (alloc) need[behind[SLOT_BITS-1:0]] <= 1'b1;
      if (read_accept) need[granted] <= 1'b0;
      if (work && !ends && !same_word) need[work_slot] <= 1'b1;
      // A response takes the place of a held word, and a full slot waits: then the next descriptor
      // is read again.
      if (held_valid && (response || !space[held_slot])) need[held_slot] <= 1'b1;
    end
  end

  logic unused;
  assign unused = &{1'b0, setup, there};
endmodule
