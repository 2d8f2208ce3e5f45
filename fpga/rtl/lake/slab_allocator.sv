// Chunks of four sizes: allocates and frees, never loses or doubles a chunk.
//
// Paper: section II-E: "an SRAM-based memory, storing addresses of unused chunks", with "a small cache
// (implemented as a FIFO), which pre-loads the next available addresses". Each class has a region of
// the data memory, in the order 64, 128, 256, 512 bytes. Chunks that were never in use are allocated
// first, by a pointer; freed chunks go to the class's FIFO, and to its stack in the SRAM while the
// FIFO is full. The FIFO is refilled from the stack when it is half empty.
//
// Without SRAM: connect on-chip RAM of SRAM_LATENCY 1. FREE_ENTRIES limits the stack of a class; 0
// means no limit, so that no chunk is lost. A chunk that finds no place is counted (`lost_event`). The
// SRAM holds the stacks one behind the other: it needs a word for each chunk.
// Throughput: one request a cycle; an allocation waits while FIFO is empty and a read of the SRAM is
// under way, and a free while a word comes from the SRAM. Latency: one cycle.
module slab_allocator #(
    parameter int CHUNKS_64 = 1024,
    parameter int CHUNKS_128 = 1024,
    parameter int CHUNKS_256 = 1024,
    parameter int CHUNKS_512 = 1024,
    parameter int FREE_ENTRIES = 0,
    parameter int PREFETCH = 16,  // words of a class's FIFO, a power of two
    parameter int SRAM_LATENCY = 8,
    parameter int SRAM_ADDRESS_BITS = 16,
    parameter int TAG_BITS = 3
) (
    input  logic                         clk,
    input  logic                         rst,

    input  logic                         s_valid,
    output logic                         s_ready,
    input  lake_pkg::slab_request_t      s_request,
    input  logic [TAG_BITS-1:0]          s_tag,
    output logic                         s_response_valid,
    output lake_pkg::slab_response_t     s_response,
    output logic [TAG_BITS-1:0]          s_response_tag,

    // The word that is read comes SRAM_LATENCY cycles after `sram_enable`.
    output logic                         sram_enable,
    output logic                         sram_write,
    output logic [SRAM_ADDRESS_BITS-1:0] sram_address,
    output logic [31:0]                  sram_wdata,
    input  logic [31:0]                  sram_rdata,

    output logic [3:0][31:0]             in_use,
    // High for a cycle at each event.
    output logic                         fail_event,
    output logic                         lost_event
);
  localparam int WIDTH = lake_pkg::ADDRESS_BITS;
  localparam int COUNT_BITS = SRAM_ADDRESS_BITS + 1;
  localparam int FIFO_BITS = $clog2(PREFETCH);

  function automatic int stack_size(input int chunks);
    stack_size = FREE_ENTRIES == 0 || chunks < FREE_ENTRIES ? chunks : FREE_ENTRIES;
  endfunction

  localparam int END_64 = CHUNKS_64;
  localparam int END_128 = END_64 + 2 * CHUNKS_128;
  localparam int END_256 = END_128 + 4 * CHUNKS_256;
  localparam int END_512 = END_256 + 8 * CHUNKS_512;
  localparam int STACK_128 = stack_size(CHUNKS_64);
  localparam int STACK_256 = STACK_128 + stack_size(CHUNKS_128);
  localparam int STACK_512 = STACK_256 + stack_size(CHUNKS_256);

  // Constants of each class; yosys takes no two-dimensional parameters.
  logic [3:0][WIDTH-1:0]             region_start;
  logic [3:0][WIDTH-1:0]             region_end;
  logic [3:0][SRAM_ADDRESS_BITS-1:0] stack_start;
  logic [3:0][COUNT_BITS-1:0]        stack_limit;
  assign region_start = {WIDTH'(END_256), WIDTH'(END_128), WIDTH'(END_64), WIDTH'(0)};
  assign region_end   = {WIDTH'(END_512), WIDTH'(END_256), WIDTH'(END_128), WIDTH'(END_64)};
  assign stack_start = {
    SRAM_ADDRESS_BITS'(STACK_512),
    SRAM_ADDRESS_BITS'(STACK_256),
    SRAM_ADDRESS_BITS'(STACK_128),
    SRAM_ADDRESS_BITS'(0)
  };
  assign stack_limit = {
    COUNT_BITS'(stack_size(CHUNKS_512)),
    COUNT_BITS'(stack_size(CHUNKS_256)),
    COUNT_BITS'(stack_size(CHUNKS_128)),
    COUNT_BITS'(stack_size(CHUNKS_64))
  };

  if (STACK_512 + stack_size(CHUNKS_512) > 1 << SRAM_ADDRESS_BITS) begin : gen_check
    $error("slab_allocator: the SRAM is too small for the free lists");
  end

  logic [3:0][WIDTH-1:0]      fresh;        // the next chunk that was never in use
  logic [3:0][COUNT_BITS-1:0] stacked;      // words in the SRAM
  logic [3:0][FIFO_BITS:0]   queued;       // words in the FIFO
  logic [3:0][FIFO_BITS:0]   claimed;      // and those on their way to it
  logic [3:0][FIFO_BITS-1:0] head;
  logic [3:0][FIFO_BITS-1:0] tail;
  logic [WIDTH-1:0]          fifo[4*PREFETCH];

  // Reads of the SRAM under way: a word comes when its place reaches the end.
  logic [SRAM_LATENCY:0]      flight;
  logic [SRAM_LATENCY:0][1:0] flight_class;
  logic                       arrival;
  logic [1:0]                 arrival_class;

  logic [1:0]       chunk_class;
  logic             accept;
  logic             has_fresh;
  logic             has_queued;
  logic             coming;        // a word is on its way, or can be read
  logic             allocate;
  logic             release_chunk;
  logic             pop;
  logic             push;
  logic             spill;         // a freed chunk goes to the SRAM
  logic             fifo_write;
  logic [1:0]       fifo_class;
  logic [WIDTH-1:0] fifo_word;
  logic [3:0]       wants;         // classes that want a word of the SRAM
  logic [3:0]       refill;        // the one that gets it
  logic             refill_valid;
  logic [1:0]       refill_class;

  logic unused_bits;
  assign unused_bits = &{1'b0, sram_rdata[31:WIDTH]};

  assign chunk_class = s_request.chunk_class;

  assign s_ready  = s_request.free ? !arrival : has_fresh || has_queued || !coming;
  assign accept   = s_valid && s_ready;
  assign allocate = accept && !s_request.free;
  assign pop      = allocate && !has_fresh && has_queued;
  assign release_chunk = accept && s_request.free;

  assign arrival       = flight[SRAM_LATENCY];
  assign arrival_class = flight_class[SRAM_LATENCY];
  assign fifo_write = arrival || push;
  assign fifo_class = arrival ? arrival_class : chunk_class;
  assign fifo_word  = arrival ? sram_rdata[WIDTH-1:0] : s_request.chunk;

  // A simulation skips what no request asks for, and refills while no word is in the SRAM.
  always_comb begin
    has_fresh  = 1'b0;
    has_queued = 1'b0;
    coming     = 1'b0;
    if (s_valid) begin
      has_fresh  = fresh[chunk_class] != region_end[chunk_class];
      has_queued = queued[chunk_class] != '0;
      coming     = claimed[chunk_class] != '0 || stacked[chunk_class] != '0;
    end
  end

  always_comb begin
    push  = 1'b0;
    spill = 1'b0;
    if (release_chunk) begin
      push  = !claimed[chunk_class][FIFO_BITS];
      spill = claimed[chunk_class][FIFO_BITS] && stacked[chunk_class] != stack_limit[chunk_class];
    end
  end

  always_comb begin
    wants = '0;
    if (stacked != '0) begin
      for (int each = 0; each < 4; each++) begin
        wants[each] = stacked[each] != '0 && claimed[each] <= (FIFO_BITS + 1)'(PREFETCH / 2);
      end
    end
    refill_class = '0;
    for (int each = 0; each < 4; each++) begin
      if (refill[each]) begin
        refill_class = 2'(each);
      end
    end
  end
  assign refill_valid = refill != '0 && !spill;

  round_robin_arbiter #(
      .REQUESTS(4)
  ) refill_arbiter (
      .clk,
      .rst,
      .request(wants),
      .accept(!spill),
      .grant(refill)
  );

  always_ff @(posedge clk) begin
    if (allocate) begin
      s_response.ok    <= has_fresh || has_queued;
      s_response.chunk <= has_fresh ? fresh[chunk_class] : fifo[{chunk_class, head[chunk_class]}];
      s_response_tag   <= s_tag;
    end

    if (fifo_write) begin
      fifo[{fifo_class, tail[fifo_class]}] <= fifo_word;
    end

    if (spill || refill_valid) begin
      sram_write   <= spill;
      sram_address <= spill
          ? stack_start[chunk_class] + stacked[chunk_class][SRAM_ADDRESS_BITS-1:0]
          : stack_start[refill_class] + stacked[refill_class][SRAM_ADDRESS_BITS-1:0] - 1'b1;
      sram_wdata   <= 32'(s_request.chunk);
    end
    flight_class <= {flight_class[SRAM_LATENCY-1:0], refill_class};

    if (rst) begin
      fresh            <= region_start;
      flight           <= '0;
      sram_enable      <= 1'b0;
      s_response_valid <= 1'b0;
      in_use           <= '0;
      fail_event       <= 1'b0;
      lost_event       <= 1'b0;
    end else begin
      s_response_valid <= allocate;
      sram_enable      <= spill || refill_valid;
      flight           <= {flight[SRAM_LATENCY-1:0], refill_valid};
      fail_event       <= allocate && !has_fresh && !has_queued;
      lost_event       <= release_chunk && !push && !spill;
      if (allocate && has_fresh) begin
        fresh[chunk_class] <= fresh[chunk_class] + (WIDTH'(1) << chunk_class);
      end
      if (accept && (s_request.free || has_fresh || has_queued)) begin
        in_use[chunk_class] <= in_use[chunk_class] + (s_request.free ? '1 : 32'd1);
      end
    end
  end

  // One block for each class: Verilator updates a packed array in place when it is written in a loop.
  for (genvar each = 0; each < 4; each++) begin : gen_class
    logic addressed;
    logic pushed;
    logic popped;
    logic queues;
    logic refilled;

    assign addressed = chunk_class == 2'(each);
    assign pushed    = push && addressed;
    assign popped    = pop && addressed;
    assign queues    = fifo_write && fifo_class == 2'(each);
    assign refilled  = refill_valid && refill[each];

    always_ff @(posedge clk) begin
      if (rst) begin
        queued[each]  <= '0;
        claimed[each] <= '0;
        stacked[each] <= '0;
        head[each]    <= '0;
        tail[each]    <= '0;
      end else if (accept || arrival || refill_valid) begin
        queued[each]  <= queued[each] + (FIFO_BITS + 1)'(queues) - (FIFO_BITS + 1)'(popped);
        claimed[each] <= claimed[each] + (FIFO_BITS + 1)'(pushed) + (FIFO_BITS + 1)'(refilled)
            - (FIFO_BITS + 1)'(popped);
        stacked[each] <= stacked[each] + COUNT_BITS'(spill && addressed) - COUNT_BITS'(refilled);
        head[each]    <= head[each] + FIFO_BITS'(popped);
        tail[each]    <= tail[each] + FIFO_BITS'(queues);
      end
    end
  end
endmodule
