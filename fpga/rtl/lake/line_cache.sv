// A direct-mapped, write-through cache of memory lines in front of the DRAM.
//
// Paper: section II-E, "Shared cache": 1,024 lines of 64 bytes, one instance for the hash table and
// one for the data. Reads and writes allocate. A read hit is served while other requesters wait for
// the DRAM (hit under miss); each requester, named by `s_tag`, has at most one read outstanding.
// With `enable` low every read goes to the DRAM ("DRAM only"); the contents stay coherent, so that
// `enable` may change at any time.
// Throughput: one request a cycle, less one cycle for a request behind a write of the same index
// and one cycle for each fill. Latency of a hit: one cycle from acceptance to response. A miss leaves
// two cycles after acceptance; its line passes to the requester in the cycle in which it comes.
// After reset the cache clears its LINES entries, a cycle each, and accepts nothing. Responses to
// reads from before the reset end within that time.
//
// Rules of coherence
// 1. A write updates cache and DRAM in one step, so a valid entry equals the DRAM behind all posted
//    writes.
// 2. A write forbids the fill of each older read of its index that is still outstanding.
// 3. A request waits behind a write of its index, for the RAM returns the old content.
module line_cache #(
    parameter int LINES = 1024,
    parameter int TAGS = 5,  // requesters
    localparam int TAG_BITS = TAGS > 1 ? $clog2(TAGS) : 1
) (
    input  logic                            clk,
    input  logic                            rst,
    input  logic                            enable,

    input  logic                            s_valid,
    output logic                            s_ready,
    input  lake_pkg::line_request_t         s_request,
    input  logic [TAG_BITS-1:0]             s_tag,
    output logic                            s_response_valid,
    output logic [lake_pkg::LINE_BITS-1:0]  s_response,
    output logic [TAG_BITS-1:0]             s_response_tag,

    output logic                            m_valid,
    input  logic                            m_ready,
    output lake_pkg::line_request_t         m_request,
    output logic [TAG_BITS-1:0]             m_tag,
    input  logic                            m_response_valid,
    input  logic [lake_pkg::LINE_BITS-1:0]  m_response,
    input  logic [TAG_BITS-1:0]             m_response_tag,

    // High for a cycle at each event.
    output logic                            hit_event,
    output logic                            miss_event,
    output logic                            fill_event
);
  localparam int INDEX_BITS = $clog2(LINES);
  localparam int KEY_BITS = lake_pkg::ADDRESS_BITS - INDEX_BITS;

  typedef struct packed {
    logic                           valid;
    logic [KEY_BITS-1:0]            key;   // upper bits of the address
    logic [lake_pkg::LINE_BITS-1:0] line;
  } entry_t;

  // An outstanding read of each requester.
  logic [TAGS-1:0]                              pending;
  logic [TAGS-1:0]                              no_fill;
  logic [TAGS-1:0][lake_pkg::ADDRESS_BITS-1:0]  pending_address;

  logic                    clearing;
  logic [INDEX_BITS-1:0]   clear_index;

  logic                    lookup_valid;
  lake_pkg::line_request_t lookup;
  logic [TAG_BITS-1:0]     lookup_tag;
  entry_t                  found;

  logic                    hit;
  logic                    load;         // the register towards the DRAM is free
  logic                    lookup_done;
  logic                    write_done;
  logic                    read_done;    // a miss
  logic                    accept;
  logic                    fill;
  logic                    expected;     // the response is to a pending read
  logic [lake_pkg::ADDRESS_BITS-1:0] fill_address;

  logic                    ram_write;
  logic [INDEX_BITS-1:0]   ram_index;
  entry_t                  ram_entry;

  assign hit = enable && !lookup.write && found.valid
      && found.key == lookup.address[lake_pkg::ADDRESS_BITS-1:INDEX_BITS];
  assign load = !m_valid || m_ready;
  assign write_done = lookup_valid && lookup.write && load && !m_response_valid;
  assign read_done = lookup_valid && !lookup.write && !hit && load;
  assign hit_event = lookup_valid && hit && !m_response_valid;
  assign lookup_done = write_done || read_done || hit_event;
  assign miss_event = read_done;

  assign s_ready = !clearing && (!lookup_valid || lookup_done) && !(lookup_valid && lookup.write
      && lookup.address[INDEX_BITS-1:0] == s_request.address[INDEX_BITS-1:0]);
  assign accept = s_valid && s_ready;

  assign expected = m_response_valid && pending[m_response_tag];
  assign fill = expected && !no_fill[m_response_tag];
  assign fill_event = fill;
  assign fill_address = pending_address[m_response_tag];

  assign s_response_valid = expected || hit_event;
  assign s_response_tag = m_response_valid ? m_response_tag : lookup_tag;

  // Lines are selected only when they are needed: a simulation skips that in all other cycles.
  always_comb begin
    s_response = '0;
    if (m_response_valid) s_response = m_response;
    else if (hit_event) s_response = found.line;
  end

  always_comb begin
    ram_write = clearing || fill || write_done;
    ram_index = lookup.address[INDEX_BITS-1:0];
    ram_entry = '0;
    if (clearing) begin
      ram_index = clear_index;
    end else if (write_done) begin
      ram_entry = {1'b1, lookup.address[lake_pkg::ADDRESS_BITS-1:INDEX_BITS], lookup.data};
    end else if (m_response_valid) begin
      ram_index = fill_address[INDEX_BITS-1:0];
      ram_entry = {1'b1, fill_address[lake_pkg::ADDRESS_BITS-1:INDEX_BITS], m_response};
    end
  end

  ram_sdp #(
      .WIDTH($bits(found)),
      .DEPTH(LINES)
  ) ram (
      .clk,
      .write_enable(ram_write),
      .write_address(ram_index),
      .write_data(ram_entry),
      .read_enable(accept),
      .read_address(s_request.address[INDEX_BITS-1:0]),
      .read_data(found)
  );

  always_ff @(posedge clk) begin
    if (accept) begin
      lookup     <= s_request;
      lookup_tag <= s_tag;
    end
    if (write_done || read_done) begin
      m_request <= lookup;
      m_tag     <= lookup_tag;
    end
    if (expected) begin
      pending[m_response_tag] <= 1'b0;
    end
    if (read_done) begin
      pending[lookup_tag]         <= 1'b1;
      no_fill[lookup_tag]         <= 1'b0;
      pending_address[lookup_tag] <= lookup.address;
    end
    if (write_done) begin
      for (int each = 0; each < TAGS; each++) begin
        if (pending_address[each][INDEX_BITS-1:0] == lookup.address[INDEX_BITS-1:0]) begin
          no_fill[each] <= 1'b1;
        end
      end
    end
    if (clearing) begin
      clear_index <= clear_index + 1'b1;
    end
    if (rst) begin
      clearing     <= 1'b1;
      clear_index  <= '0;
      lookup_valid <= 1'b0;
      m_valid      <= 1'b0;
      pending      <= '0;
    end else begin
      clearing     <= clearing && clear_index != INDEX_BITS'(LINES - 1);
      lookup_valid <= accept || (lookup_valid && !lookup_done);
      if (load) begin
        m_valid <= write_done || read_done;
      end
    end
  end
endmodule
