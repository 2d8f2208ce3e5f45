// Finds out whether a datagram in memcached's text protocol may change items. memcached executes
// each line of it; without a line feed it waits for more, and then forgets it.
//
// A line may change items if it begins, behind blanks, as one of the commands that do: set, add,
// replace, append, prepend, cas, incr, decr, delete, touch, gat, flush_all and meta commands. A
// word in the middle of a line counts, too: so more is found than there is.
module text_scanner #(
    parameter int BYTES = 32      // of a word of the stream: 32 or 64
) (
    input  logic               clk,
    input  logic               take,     // a word passes
    input  logic               first,    // it begins a frame
    input  logic [8*BYTES-1:0] data,
    input  logic [15:0]        payload,  // offset of the datagram's first command, below 64
    output logic               changes   // behind the last word: the datagram may change items
);
  localparam int TAIL = 4;

  // The first three bytes of commands, the first one lowest.
  function automatic logic changes_items(input logic [23:0] word);
    case (word)
      "tes", "dda", "per", "ppa", "erp", "sac", "cni", "ced", "led", "uot", "tag", "ulf":
      changes_items = 1'b1;
      default:
      changes_items = word[7:0] == "m" && word[23:16] == " "
          && (word[15:8] == "s" || word[15:8] == "d" || word[15:8] == "a" || word[15:8] == "g");
    endcase
  endfunction

  logic [8*TAIL-1:0]         tail;     // the last bytes of the word before
  logic [8*(BYTES+TAIL)-1:0] both;
  logic [15:0]               offset;   // of `data`
  logic [15:0]               at;       // of `both`
  logic                      line_end;
  logic                      command;
  logic                      found_line_end;
  logic                      found_command;

  assign at   = first ? 16'd0 : offset;
  assign both = {data, tail};

  always_comb begin
    line_end = 1'b0;
    command  = 1'b0;
    if (take) begin
      for (int i = 0; i < BYTES; i++) begin
        if (at + 16'(i) >= payload && data[8*i+:8] == 8'h0a) line_end = 1'b1;
        // Byte i + 1 of `both` is at `at` + i + 1 - TAIL. The command begins there.
        if (at + 16'(i) + 16'd1 >= payload + 16'(TAIL)
            && (at + 16'(i) + 16'd1 == payload + 16'(TAIL) || both[8*i+:8] == 8'h0a
                || both[8*i+:8] == 8'h20)
            && changes_items(both[8*(i+1)+:24])) command = 1'b1;
      end
    end
  end

  always_ff @(posedge clk) begin
    if (take) begin
      tail           <= data[8*BYTES-1-:8*TAIL];
      offset         <= at + 16'(BYTES);
      found_line_end <= line_end || (!first && found_line_end);
      found_command  <= command || (!first && found_command);
    end
  end

  assign changes = found_line_end && found_command;
endmodule
