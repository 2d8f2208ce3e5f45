// Decodes one operation of memcached's binary protocol and says what the cache does with it.
// Combinational. Fields that are passed on keep the order of their bytes on the wire. Without
// `enable` all fields are 0, and a simulation skips the work.
module operation_decoder #(
    parameter int MAX_ITEM_BYTES = 480  // key and value of a storable SET
) (
    input  logic                   enable,
    input  logic [255:0]           window,     // from the first byte of the operation
    input  logic [15:0]            remaining,  // bytes from there to the end of the datagram
    output memcached_pkg::operation_t   operation
);
  logic [7:0]  opcode;
  logic [15:0] key_length;
  logic [7:0]  extras_length;
  logic [31:0] body_length;
  logic [31:0] first_extra;
  logic [31:0] second_extra;

  assign opcode        = window[15:8];
  assign key_length    = {window[23:16], window[31:24]};
  assign extras_length = window[39:32];
  assign body_length   = {window[71:64], window[79:72], window[87:80], window[95:88]};
  assign first_extra   = window[223:192];
  assign second_extra  = window[255:224];

  // Sets of opcodes below 64, a bit for each.
  function automatic logic [63:0] codes(input logic [7:0] first, input logic [7:0] last);
    codes = '0;
    for (int i = 0; i < 64; i++) begin
      codes[i] = i >= int'(first) && i <= int'(last);
    end
  endfunction
  // QUIT, NOOP, VERSION, STAT, QUITQ, VERBOSITY
  localparam logic [63:0] READS = codes(8'h07, 8'h07) | codes(8'h0a, 8'h0b) | codes(8'h10, 8'h10)
      | codes(8'h17, 8'h17) | codes(8'h1b, 8'h1b);
  localparam logic [63:0] FLUSHES = codes(8'h08, 8'h08) | codes(8'h18, 8'h18);
  // SETQ to PREPENDQ without QUITQ, GATQ, GATKQ
  localparam logic [63:0] QUIET = codes(8'h11, 8'h16) | codes(8'h18, 8'h1a) | codes(8'h1e, 8'h1e)
      | codes(8'h24, 8'h24);
  localparam logic [63:0] TOUCHES = codes(8'h1c, 8'h1e) | codes(8'h23, 8'h24);
  // SET, ADD, REPLACE and their quiet forms
  localparam logic [63:0] STORES = codes(8'h01, 8'h03) | codes(8'h11, 8'h13);
  // INCREMENT and DECREMENT may create an item with an expiry.
  localparam logic [63:0] COUNTS = codes(8'h05, 8'h06) | codes(8'h15, 8'h16);

  logic known;
  logic fits;
  logic key_ok;
  logic get;
  logic quiet_get;
  logic reads;
  logic flush;
  logic quiet;
  logic touches;
  logic stores;

  always_comb begin
    known     = 1'b0;
    fits      = 1'b0;
    key_ok    = 1'b0;
    get       = 1'b0;
    quiet_get = 1'b0;
    reads     = 1'b0;
    flush     = 1'b0;
    quiet     = 1'b0;
    touches   = 1'b0;
    stores    = 1'b0;
    operation = '0;
    if (enable) begin
      known = opcode[7:6] == 2'd0;
      fits = remaining >= 16'd24 && body_length <= 32'(remaining) - 32'd24
          && 32'(key_length) + 32'(extras_length) <= body_length;
      key_ok = key_length != 16'd0 && key_length <= 16'(memcached_pkg::MAX_KEY_BYTES);

      get       = opcode == memcached_pkg::OPCODE_GET || opcode == memcached_pkg::OPCODE_GETK;
      quiet_get = opcode == memcached_pkg::OPCODE_GETQ || opcode == memcached_pkg::OPCODE_GETKQ;
      reads   = get || quiet_get || (known && READS[opcode[5:0]]);
      flush   = known && FLUSHES[opcode[5:0]];
      quiet   = quiet_get || (known && QUIET[opcode[5:0]]);
      touches = known && TOUCHES[opcode[5:0]];
      stores  = known && STORES[opcode[5:0]];

      operation.ok            = fits;
      operation.last          = body_length == 32'(remaining) - 32'd24;
      operation.response      = window[7:0] == 8'h81;
      operation.opcode        = opcode;
      operation.key_length    = key_length[7:0];
      operation.extras_length = extras_length;
      operation.body_length   = body_length[15:0];
      operation.status_ok     = window[63:48] == 16'd0;
      operation.opaque        = window[127:96];
      operation.cas           = window[191:128];
      operation.flags         = first_extra;
      operation.get           = get || quiet_get;
      operation.echoes_key    = opcode == memcached_pkg::OPCODE_GETK || opcode == memcached_pkg::OPCODE_GETKQ;
      operation.quiet         = quiet;
      operation.flush         = flush;
      operation.delayed_flush = flush && extras_length == 8'd4 && first_extra != 32'd0;
      operation.mutation      = !reads && !flush;
      if (operation.response) begin
        operation.ok = fits && window[47:40] == 8'd0;
      end else begin
        operation.ok = fits && window[7:0] == 8'h80
            && (!operation.mutation || key_ok || (key_length == 16'd0 && opcode > 8'h1b))
            && (!flush || (key_length == 16'd0 && 32'(extras_length) == body_length
                           && (extras_length == 8'd0 || extras_length == 8'd4)))
            && (!operation.get || (key_ok && extras_length == 8'd0
                                   && 32'(key_length) == body_length));
        // A mutation without a key (authentication) changes no data.
        if (key_length == 16'd0) operation.mutation = 1'b0;
      end
      // memcached 1.6 closes at a wrong magic and at lengths that do not fit the operation or each
      // other, and forgets what is no whole header. A body that ends behind the datagram goes on with
      // the next datagrams.
      operation.refused = window[7:0] != 8'h80 || remaining < 16'd24
          || (opcode <= 8'h24 && (reads || body_length <= 32'(remaining) - 32'd24));
      operation.storable = opcode == memcached_pkg::OPCODE_SET && extras_length == 8'd8
          && operation.cas == 64'd0 && second_extra == 32'd0 && window[47:40] == 8'd0
          && body_length <= 32'(MAX_ITEM_BYTES + 8);
      operation.expiring = (touches && first_extra != 32'd0)
          || (stores && second_extra != 32'd0)
          || (known && COUNTS[opcode[5:0]])
          || opcode > 8'h24;
    end
  end
endmodule
