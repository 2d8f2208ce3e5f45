// placeholder
module crc32 (input logic [31:0] state, input logic [63:0] data, input logic [3:0] bytes, output logic [31:0] next);
  always_comb begin
    next = state;
    for (int i = 0; i < 8; i++) begin
      if (4'(i) < bytes) begin
        next = next ^ {24'd0, data[8*i+:8]};
        for (int j = 0; j < 8; j++) next = (next >> 1) ^ (next[0] ? 32'hedb88320 : 32'd0);
      end
    end
  end
endmodule
