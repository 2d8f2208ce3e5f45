// One's complement sum (RFC 1071) of the 16-bit words of a window of BYTES bytes. Combinational.
module window_sum #(
    parameter int BYTES = 32  // a multiple of 4, at most 64
) (
    input  logic               enable,  // low: the sum is 0, and a simulation skips the work
    input  logic [8*BYTES-1:0] window,  // byte i at bits 8*i+:8; unused bytes are 0
    output logic [15:0]        sum
);
  // The order of the bytes does not matter to this sum, but for that of the result. So words of 32
  // bits are added as they are, and the bytes change places at the end.
  logic [35:0] total;
  logic [17:0] halves;
  logic [16:0] folded;
  logic [15:0] swapped;

  always_comb begin
    total   = '0;
    halves  = '0;
    folded  = '0;
    swapped = '0;
    if (enable) begin
      for (int i = 0; i < BYTES / 4; i++) total += {4'd0, window[32*i+:32]};
      halves  = {2'd0, total[15:0]} + {2'd0, total[31:16]} + {14'd0, total[35:32]};
      folded  = {1'b0, halves[15:0]} + {15'd0, halves[17:16]};
      swapped = folded[15:0] + {15'd0, folded[16]};
    end
  end

  assign sum = {swapped[7:0], swapped[15:8]};
endmodule
