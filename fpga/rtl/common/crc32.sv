// CRC-32 of Ethernet and zlib, over up to BYTES bytes at a time. Combinational: the user keeps the
// state in a register. It starts with all ones; the CRC is the inverted state after the last byte.
module crc32 #(
    parameter int BYTES = 8
) (
    input  logic [31:0]                state,
    input  logic [8*BYTES-1:0]         data,   // byte 0 comes first
    input  logic [$clog2(BYTES+1)-1:0] bytes,  // of `data`; the rest is ignored
    output logic [31:0]                next
);
  crc_step #(
      .WIDTH     (32),
      .POLYNOMIAL(32'hedb8_8320),
      .BYTES     (BYTES)
  ) step (
      .state,
      .data,
      .bytes,
      .next
  );
endmodule
