// A buffer of bytes that is read in windows of BYTES bytes at any byte offset.
// Two banks hold the even and the odd words, so that a window across two words takes one cycle.
// A write may fill one word of each bank. Offsets wrap at the end of the buffer.
// The shifter works while `show` is high only: a simulation skips it in all other cycles.
module window_buffer #(
    parameter int WORDS = 64,  // a power of two, at least 4
    parameter int BYTES = 32   // of a word, and of a window; a power of two
) (
    input  logic                            clk,

    input  logic [1:0]                      write,  // bit 0: bank of even words, bit 1: odd words
    input  logic [1:0][$clog2(WORDS)-2:0]   write_row,
    input  logic [1:0][8*BYTES-1:0]         write_data,

    input  logic                            read,
    input  logic [$clog2(WORDS*BYTES)-1:0]  read_offset,  // in bytes
    input  logic                            show,
    output logic [8*BYTES-1:0]              window        // from the cycle after `read`; 0 without `show`
);
  localparam int ROW_BITS = $clog2(WORDS) - 1;
  localparam int BYTE_BITS = $clog2(BYTES);

  logic [8*BYTES-1:0]  even_bank [WORDS/2];
  logic [8*BYTES-1:0]  odd_bank  [WORDS/2];
  logic [8*BYTES-1:0]  even_word;
  logic [8*BYTES-1:0]  odd_word;
  logic [ROW_BITS:0]   word;
  logic [BYTE_BITS-1:0] shift;
  logic                starts_odd;

  assign word = read_offset[ROW_BITS+BYTE_BITS:BYTE_BITS];

  always_ff @(posedge clk) begin
    if (write[0]) even_bank[write_row[0]] <= write_data[0];
    if (write[1]) odd_bank[write_row[1]] <= write_data[1];
    if (read) begin
      // The window starts in word `word`; the word after it is in the other bank.
      even_word  <= even_bank[word[ROW_BITS:1] + ROW_BITS'(word[0])];
      odd_word   <= odd_bank[word[ROW_BITS:1]];
      shift      <= read_offset[BYTE_BITS-1:0];
      starts_odd <= word[0];
    end
  end

  always_comb begin
    window = '0;
    if (show) begin
      window = (8 * BYTES)'((starts_odd ? {even_word, odd_word} : {odd_word, even_word}) >> {shift, 3'b000});
    end
  end
endmodule
