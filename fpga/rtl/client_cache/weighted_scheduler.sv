// Deficit round robin over frames, by bytes, with an optional rate limit for each port.
//
// In its turn a port may send `weight` bytes more than before, as whole frames; what is left stays
// for its next turn, unless it has nothing to send. So ports that always have frames send bytes in
// the proportion of their weights, and an idle port costs nothing. A weight of 0 counts as 1.
//
// `skip` further cycles pass with this one; only without requests, and at most 4,095.
//
// A port with a rate sends at most `rate` bytes in 1,024 cycles in the long run, and up to
// BURST_BYTES and a frame more at once.
//
// The grant is combinational. After a turn ends, the next port gets its grant a cycle later.
module weighted_scheduler #(
    parameter int PORTS = 2,
    parameter int BURST_BYTES = 16384
) (
    input  logic                   clk,
    input  logic                   rst,
    input  logic [31:0]            skip = '0,  // for simulations

    input  logic [PORTS-1:0][15:0] weight,
    input  logic [PORTS-1:0][15:0] rate,     // 0: no limit
    input  logic [PORTS-1:0]       request,  // a frame waits, or its words are being taken
    input  logic [PORTS-1:0][15:0] length,   // of the frame that waits
    input  logic                   enable,   // a frame may begin
    output logic [PORTS-1:0]       grant,    // one-hot, or 0
    input  logic                   accept    // the granted frame is taken
);
  localparam int DEFICIT_BITS = 17;
  localparam int TOKEN_BITS = 32;  // signed, in 1/1,024 bytes
  localparam logic [TOKEN_BITS-1:0] FULL = TOKEN_BITS'(BURST_BYTES << 10);

  logic [PORTS-1:0]                   turn;     // one-hot
  logic [PORTS-1:0]                   behind;   // ports behind it
  logic [PORTS-1:0]                   able;
  logic [PORTS-1:0]                   next;
  logic [PORTS-1:0]                   preferred;
  logic [PORTS-1:0][DEFICIT_BITS-1:0] deficit;  // bytes that a port may send
  logic [PORTS-1:0]                   enough;
  logic [PORTS-1:0]                   limited;
  logic                               moves;    // the turn ends

  assign preferred = able & behind;
  assign next      = preferred != '0 ? preferred & (~preferred + 1'b1) : able & (~able + 1'b1);
  assign able      = request & ~limited;
  assign grant     = enable ? able & turn & enough : '0;
  assign moves     = enable && grant == '0 && able != '0;

  always_ff @(posedge clk) begin
    if (rst) begin
      turn   <= PORTS'(1);
      behind <= '1 << 1;
    end else if (moves) begin
      turn   <= next;
      behind <= ~(next | (next - 1'b1));
    end
  end

  for (genvar i = 0; i < PORTS; i++) begin : each
    logic [DEFICIT_BITS-1:0] more;
    logic [DEFICIT_BITS-1:0] kept;
    logic signed [TOKEN_BITS-1:0] tokens;
    logic signed [TOKEN_BITS-1:0] after;

    assign enough[i]  = deficit[i] >= DEFICIT_BITS'(length[i]);
    assign limited[i] = rate[i] != '0 && tokens < 0;
    assign more       = weight[i] == '0 ? DEFICIT_BITS'(1) : DEFICIT_BITS'(weight[i]);
    // A port that has nothing to send loses what is left.
    assign kept       = request[i] ? deficit[i] : '0;
    assign after      = tokens + TOKEN_BITS'(rate[i]) + TOKEN_BITS'(rate[i]) * TOKEN_BITS'(skip)
        - (accept && grant[i] ? TOKEN_BITS'({length[i], 10'd0}) : '0);

    always_ff @(posedge clk) begin
      if (rst) deficit[i] <= '0;
      else if (accept && grant[i]) deficit[i] <= deficit[i] - DEFICIT_BITS'(length[i]);
      else if (moves && next[i]) deficit[i] <= kept[DEFICIT_BITS-1] ? kept : kept + more;
      else if (!turn[i] || moves) deficit[i] <= kept;

      if (rst || rate[i] == '0) tokens <= FULL;
      else tokens <= after > $signed(FULL) ? $signed(FULL) : after;
    end
  end
endmodule
