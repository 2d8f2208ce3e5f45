// Returns chains to the driver: writes elements and index of the used ring, and asks for an
// interrupt.
//
// Rules
// 1. The index is written after the elements that it covers. Writes become visible in order.
// 2. One write of the index is under way at a time. It covers all elements before it.
// 3. An interrupt comes after the index is visible. It is left out only if flags say so that were
//    requested when the index was visible: a driver that enables interrupts and then looks at the
//    index misses nothing.
// 4. The flags are requested with the write of the index already. If they allow the interrupt, it
//    does not wait for further flags.
//
// Throughput: an element every two cycles. Latency: one cycle from the element to its write; one
// write from the index to the interrupt, and one read more if interrupts were just enabled.
module vq_used #(
    parameter int BYTES = 64,
    parameter int DEPTH = 64  // elements that wait; a power of two
) (
    input  logic                    clk,
    input  logic                    rst,

    input  logic                    run,  // 0: a write that has begun ends; forgets the rest
    input  virtio_pkg::queue_t      setup,
    output logic [15:0]             used_index,  // of elements that were written
    output logic                    error,

    input  logic                    s_valid,
    output logic                    s_ready,
    input  virtio_pkg::used_t       s_used,
    output logic [$clog2(DEPTH):0]  level,  // elements that wait

    // a write of one word: address, then data
    output logic                    write_valid,
    input  logic                    write_ready,
    output logic [63:0]             write_address,
    output virtio_pkg::write_kind_t write_kind,
    output logic                    data_valid,
    input  logic                    data_ready,
    output logic [8*BYTES-1:0]      data,
    output logic [BYTES-1:0]        data_strobe,
    input  logic                    response,
    input  virtio_pkg::write_kind_t response_kind,
    input  logic                    response_error,

    output logic                    check,        // read the flags
    input  logic                    check_taken,  // they are requested
    input  logic                    checked,
    input  logic                    no_interrupt,
    output logic                    notify  // pulse: interrupt the driver
);
  localparam int ADDRESS_BITS = $clog2(DEPTH);
  localparam int OFFSET_BITS = $clog2(BYTES);

  // Elements that wait.
  logic [virtio_pkg::USED_BITS-1:0] waiting[DEPTH];  // yosys takes no arrays of structs
  virtio_pkg::used_t     next;
  logic [ADDRESS_BITS:0] write_pointer;
  logic [ADDRESS_BITS:0] read_pointer;

  logic        index_waiting;  // a write of the index is under way
  logic [15:0] published;      // the last index that was written
  logic        visible;        // the index that was written last, from this cycle
  logic        early;          // flags are to be requested with the write of the index
  logic        allowed;        // they allow an interrupt
  logic        allows;         // they do, from this cycle on
  logic        undecided;      // the index is visible: an interrupt, if flags allow it
  logic        covers;         // the flags under way were requested after that
  logic        index_wanted;
  logic        element_wanted;
  logic        second;         // the second half of an element that two words share
  logic        in_data;
  logic        accept;
  logic        element_done;

  logic [63:0]            element_address;
  logic                   straddles;
  logic [OFFSET_BITS-1:0] offset;
  logic [63:0]            bytes;
  logic [7:0]             strobe;
  logic [OFFSET_BITS-1:0] data_offset;
  logic [63:0]            data_bytes;
  logic [7:0]             data_bytes_strobe;

  assign level   = write_pointer - read_pointer;
  assign s_ready = level != (ADDRESS_BITS + 1)'(DEPTH);
  assign next    = waiting[read_pointer[ADDRESS_BITS-1:0]];

  assign index_wanted    = !index_waiting && published != used_index && !second;
  assign element_wanted  = level != '0;
  assign element_address = setup.device + 64'd4
      + {45'd0, used_index & (setup.size - 16'd1), 3'd0};
  assign straddles       = element_address[OFFSET_BITS-1:2] == '1;

  assign write_valid = run && !in_data && (index_wanted || element_wanted);
  assign write_kind  = index_wanted ? virtio_pkg::WRITE_INDEX : virtio_pkg::WRITE_ELEMENT;
  assign accept      = write_valid && write_ready;

  always_comb begin
    write_address = element_address;
    bytes         = {next.length, 16'd0, next.head};
    strobe        = straddles ? 8'h0f : 8'hff;
    if (index_wanted) begin
      write_address = setup.device + 64'd2;
      bytes         = 64'(used_index);
      strobe        = 8'h03;
    end else if (second) begin
      write_address = element_address + 64'd4;
      bytes         = 64'(next.length);
      strobe        = 8'h0f;
    end
  end
  assign offset       = write_address[OFFSET_BITS-1:0];
  assign element_done = accept && !index_wanted && (second || !straddles);

  // Data of the write whose address was taken.
  assign data_valid = in_data;

  always_comb begin
    data        = '0;
    data_strobe = '0;
    if (in_data) begin
      data        = (8 * BYTES)'(data_bytes) << {data_offset, 3'd0};
      data_strobe = BYTES'(data_bytes_strobe) << data_offset;
    end
  end

  assign error = run && response && response_error;
  assign visible = run && response && response_kind == virtio_pkg::WRITE_INDEX;
  assign check   = early || undecided;
  assign allows  = allowed || (checked && !no_interrupt);
  assign notify  = run && ((visible && allows) || (checked && !no_interrupt && undecided));

  always_ff @(posedge clk) begin
    if (s_valid && s_ready) waiting[write_pointer[ADDRESS_BITS-1:0]] <= s_used;
    if (accept) begin
      data_offset       <= offset;
      data_bytes        <= bytes;
      data_bytes_strobe <= strobe;
    end
    // A write that has begun ends, whatever happens.
    if (rst) in_data <= 1'b0;
    else in_data <= accept || (in_data && !data_ready);
    if (rst || !run) begin
      write_pointer <= '0;
      read_pointer  <= '0;
      index_waiting <= 1'b0;
      early         <= 1'b0;
      allowed       <= 1'b0;
      undecided     <= 1'b0;
      covers        <= 1'b0;
      second        <= 1'b0;
      used_index    <= setup.start;
      published     <= setup.start;
    end else begin
      write_pointer <= write_pointer + (ADDRESS_BITS + 1)'(s_valid && s_ready);
      read_pointer  <= read_pointer + (ADDRESS_BITS + 1)'(element_done);
      used_index    <= used_index + 16'(element_done);
      if (accept && !index_wanted) second <= straddles && !second;
      if (accept && index_wanted) published <= used_index;
      index_waiting <= (accept && index_wanted) || (index_waiting && !visible);
      early         <= (accept && index_wanted) || (early && !check_taken);
      allowed       <= index_waiting && !visible && allows;
      undecided     <= (visible && !allows)
          || (undecided && !(checked && (covers || !no_interrupt)));
      covers        <= check_taken ? undecided && !visible : covers && !visible;

    end
  end

  logic unused;
  assign unused = &{1'b0, setup};
endmodule
