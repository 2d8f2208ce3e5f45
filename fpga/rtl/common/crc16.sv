// CRC-16 with the polynomial of CCITT, most significant bit first (Python: binascii.crc_hqx), over
// up to BYTES bytes at a time. Combinational: the user keeps the state, which is the CRC, in a
// register. It starts with zero.
module crc16 #(
    parameter int BYTES = 8
) (
    input  logic [15:0]                state,
    input  logic [8*BYTES-1:0]         data,   // byte 0 comes first
    input  logic [$clog2(BYTES+1)-1:0] bytes,  // of `data`; the rest is ignored
    output logic [15:0]                next
);
  // The reflected CRC of the mirrored bits is the mirrored CRC.
  logic [15:0]        mirrored_state;
  logic [8*BYTES-1:0] mirrored_data;
  logic [15:0]        mirrored_next;

  for (genvar i = 0; i < 16; i++) begin : state_bits
    assign mirrored_state[i] = state[15-i];
    assign next[i] = mirrored_next[15-i];
  end
  for (genvar i = 0; i < 8 * BYTES; i++) begin : data_bits
    assign mirrored_data[i] = data[8*(i/8)+7-i%8];
  end

  crc_step #(
      .WIDTH     (16),
      .POLYNOMIAL(16'h8408),
      .BYTES     (BYTES)
  ) step (
      .state(mirrored_state),
      .data (mirrored_data),
      .bytes,
      .next (mirrored_next)
  );
endmodule
