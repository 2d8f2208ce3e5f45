// Which MAC address a server has, as its replies tell: a table of the servers that answered last.
//
// A frame passes beside this module. The cycle after its last word, `known` says that a reply came
// from the server of this frame, and `same_mac` that a request goes to the MAC address that the last
// reply came from. A request to another MAC address is for another machine, whatever its IP address.
// A lost entry costs hits until the next reply of its server. Throughput: one word a cycle.
module server_addresses #(
    parameter int ENTRIES = 16  // a power of two
) (
    input  logic         clk,
    input  logic         rst,

    input  logic         take,      // a word of 32 bytes passes
    input  logic         last,
    input  logic [255:0] data,
    input  logic         response,  // with the last word: the frame comes from a server,
    input  logic         corrupt,   // is corrupt

    output logic         known,
    output logic         same_mac
);
  localparam int INDEX_BITS = $clog2(ENTRIES);

  logic                  second;        // the next word is the second one of its frame
  logic                  first;
  logic [47:0]           destination;   // of the frame: bytes as they are on the wire
  logic [47:0]           source;
  logic [31:0]           from_address;
  logic [31:0]           to_address;
  logic                  of_response;
  logic                  learn;         // the frame that has passed is a reply to be learned
  logic [31:0]           address;       // of the server
  logic [ENTRIES-1:0]    entry_valid;
  logic [31:0]           entry_address[ENTRIES];
  logic [47:0]           entry_mac[ENTRIES];
  logic [INDEX_BITS-1:0] oldest;
  logic                  ended;         // a frame has passed
  logic [ENTRIES-1:0]    entries_of;
  logic [INDEX_BITS-1:0] place;         // of the match
  logic [INDEX_BITS-1:0] learned;       // the entry that is written

  assign address  = of_response ? from_address : to_address;
  assign known    = entries_of != '0;
  assign same_mac = known && entry_mac[place] == destination;
  assign learned  = known ? place : oldest;

  always_comb begin
    entries_of = '0;
    place   = '0;
    if (ended) begin
      for (int i = 0; i < ENTRIES; i++) begin
        entries_of[i] = entry_valid[i] && entry_address[i] == address;
        if (entries_of[i]) place |= INDEX_BITS'(i);
      end
    end
  end

  always_ff @(posedge clk) begin
    if (take && first) begin
      destination      <= data[47:0];
      source           <= data[95:48];
      from_address     <= data[239:208];
      to_address[15:0] <= data[255:240];
    end
    if (take && second) to_address[31:16] <= data[15:0];
    if (take && last) of_response <= response;
    if (learn) begin
      entry_address[learned] <= address;
      entry_mac[learned]     <= source;
    end
    if (rst) begin
      first       <= 1'b1;
      second      <= 1'b0;
      ended       <= 1'b0;
      learn       <= 1'b0;
      entry_valid <= '0;
      oldest      <= '0;
    end else begin
      ended <= take && last;
      // No machine has a group address.
      learn <= take && last && response && !corrupt && (first ? !data[48] : !source[0]);
      if (take) begin
        first  <= last;
        second <= first && !last;
      end
      if (learn && !known) begin
        entry_valid[oldest] <= 1'b1;
        oldest              <= oldest + 1'b1;
      end
    end
  end

  logic unused;
  assign unused = &{1'b0, data};
endmodule
