// One's complement sum (RFC 1071) of the 16-bit words of a window of 32 bytes. Combinational.
module window_sum (
    input  logic         enable,  // low: the sum is 0, and a simulation skips the work
    input  logic [255:0] window,  // byte i at bits 8*i+:8; unused bytes are 0
    output logic [15:0]  sum
);
  logic [19:0] total;
  logic [16:0] folded;

  always_comb begin
    total  = '0;
    folded = '0;
    sum    = '0;
    if (enable) begin
      for (int i = 0; i < 16; i++) begin
        total += {4'd0, window[16*i+:8], window[16*i+8+:8]};
      end
      folded = {1'b0, total[15:0]} + {13'd0, total[19:16]};
      sum    = folded[15:0] + {15'd0, folded[16]};
    end
  end
endmodule
