// One step of a reflected CRC (least significant bit first) over up to BYTES bytes. Combinational.
// A cyclic redundancy check is linear: each bit of the result is the parity of some bits of the
// message. The constant masks that choose them are computed at elaboration.
module crc_step #(
    parameter int WIDTH = 32,
    parameter logic [WIDTH-1:0] POLYNOMIAL = 32'hedb8_8320,  // reflected
    parameter int BYTES = 8
) (
    input  logic [WIDTH-1:0]           state,
    input  logic [8*BYTES-1:0]         data,   // byte 0 comes first
    input  logic [$clog2(BYTES+1)-1:0] bytes,  // of `data`; the rest is ignored
    output logic [WIDTH-1:0]           next
);
  localparam int BITS = 8 * BYTES;

  function automatic logic [WIDTH*BITS-1:0] parity_masks();
    logic [WIDTH-1:0] effect;  // of bit `i` of the message on the result
    effect = '0;
    effect[0] = 1'b1;
    parity_masks = '0;
    for (int i = BITS - 1; i >= 0; i--) begin
      effect = (effect >> 1) ^ (effect[0] ? POLYNOMIAL : '0);
      for (int j = 0; j < WIDTH; j++) parity_masks[j*BITS+i] = effect[j];
    end
  endfunction

  localparam logic [WIDTH*BITS-1:0] MASKS = parity_masks();

  // Zeros before a message do not change its CRC, so a short one is moved to the end. The state is
  // added to the first bytes; what is left of it after a very short message stays in the result.
  logic [BITS-1:0]           message;
  logic [$clog2(BITS+1)-1:0] used;
  assign used = {bytes, 3'd0};

  always_comb begin
    message = '0;
    next    = state;
    if (bytes != '0) begin
      message = (data ^ BITS'(state)) << ($bits(used)'(BITS) - used);
      next    = state >> used;
      for (int i = 0; i < WIDTH; i++) next[i] = next[i] ^ ^(message & MASKS[i*BITS+:BITS]);
    end
  end
endmodule
