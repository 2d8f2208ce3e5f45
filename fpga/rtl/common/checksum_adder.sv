// One's complement sum (RFC 1071) over up to BYTES bytes at a time. Combinational: the user keeps
// the sum in a register. It starts with zero; the checksum of IPv4, UDP and TCP is its inverse.
module checksum_adder #(
    parameter int BYTES = 32  // even
) (
    input  logic [15:0]                sum,
    input  logic [8*BYTES-1:0]         data,   // byte 0 comes first
    input  logic [$clog2(BYTES+1)-1:0] bytes,  // of `data`; the rest is ignored
    input  logic                       odd,    // byte 0 is at an odd offset: a low-order byte
    output logic [15:0]                next
);
  localparam int TOTAL_BITS = 16 + $clog2(BYTES);

  logic [TOTAL_BITS-1:0] total;
  logic [15:0]           own;  // sum of these bytes as if at an even offset

  always_comb begin
    total = '0;
    own   = '0;
    next  = sum;
    if (bytes != '0) begin
      for (int i = 0; i < BYTES; i += 2) begin
        total += TOTAL_BITS'({
            i < 32'(bytes) ? data[8*i+:8] : 8'd0, i + 1 < 32'(bytes) ? data[8*i+8+:8] : 8'd0
        });
      end
      own = net_pkg::add(total[15:0], 16'(total[TOTAL_BITS-1:16]));
      // The sum of swapped bytes is the swapped sum.
      next = net_pkg::add(sum, net_pkg::swapped(odd, own));
    end
  end
endmodule
