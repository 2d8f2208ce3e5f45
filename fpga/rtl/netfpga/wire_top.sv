// Example design: wires between ports, with counters. It is the smallest design that has the ports
// of every top-level module: see docs/use/fpga.md.
// Throughput: one word a cycle at each port. Latency: one cycle.
//
// Register `mode` selects the wires: LOOPBACK returns each frame at its port; PAIRS connects ports
// 0-1, 2-3, ...; HOST connects port 0 with the host port. A port without a partner is in loopback.
// A new mode takes effect when no port is within a frame.
module wire_top #(
    parameter int NETWORK_PORTS = 4,
    parameter int BYTES = 32
) (
    input  logic                                clk,
    input  logic                                rst,
    input  logic [31:0]                         seed,

    input  logic [NETWORK_PORTS:0]              rx_valid,
    output logic [NETWORK_PORTS:0]              rx_ready,
    input  logic [NETWORK_PORTS:0][8*BYTES-1:0] rx_data,
    input  logic [NETWORK_PORTS:0]              rx_last,
    input  logic [NETWORK_PORTS:0][15:0]        rx_meta_length,

    output logic [NETWORK_PORTS:0]              tx_valid,
    input  logic [NETWORK_PORTS:0]              tx_ready,
    output logic [NETWORK_PORTS:0][8*BYTES-1:0] tx_data,
    output logic [NETWORK_PORTS:0]              tx_last,
    output logic [NETWORK_PORTS:0][15:0]        tx_meta_length,

    input  logic [15:0]                         reg_address,
    input  logic                                reg_write,
    input  logic [31:0]                         reg_wdata,
    input  logic                                reg_read,
    output logic [31:0]                         reg_rdata
);
  localparam int PORTS = NETWORK_PORTS + 1;
  localparam int PORT_BITS = $clog2(PORTS);
  localparam logic [PORT_BITS-1:0] LAST_PORT = PORT_BITS'(PORTS - 1);
  localparam int WORD_BITS = 8 * BYTES + 16 + 1;

  typedef enum logic [1:0] {
    MODE_LOOPBACK,
    MODE_PAIRS,
    MODE_HOST
  } mode_t;

  localparam logic [15:0] ADDRESS_MODE = 16'h0000;
  localparam logic [15:0] ADDRESS_SEED = 16'h0004;
  localparam logic [15:0] ADDRESS_SCRATCH = 16'h0008;
  localparam logic [15:0] ADDRESS_FRAMES = 16'h0040;  // one register of 4 bytes for each port
  localparam logic [15:0] ADDRESS_WORDS = 16'h0080;

  mode_t                  mode;
  mode_t                  wanted_mode;
  logic [31:0]            scratch;
  logic [PORTS-1:0][31:0] frames;
  logic [PORTS-1:0][31:0] words;

  logic [PORTS-1:0]       in_frame;
  logic [PORTS-1:0]       accept;
  logic [PORTS-1:0]       taken;

  logic [PORTS-1:0]                in_valid;
  logic [PORTS-1:0]                in_ready;
  logic [PORTS-1:0][WORD_BITS-1:0] in_word;
  logic [PORTS-1:0][WORD_BITS-1:0] out_word;

  // The port that is wired to `port`. The relation is symmetric.
  function automatic logic [PORT_BITS-1:0] partner(input mode_t wires,
                                                   input logic [PORT_BITS-1:0] port);
    logic [PORT_BITS-1:0] neighbour;
    neighbour = port ^ PORT_BITS'(1);
    partner = port;
    if (wires == MODE_PAIRS && 32'(neighbour) < PORTS) begin
      partner = neighbour;
    end
    if (wires == MODE_HOST && port == '0) begin
      partner = LAST_PORT;
    end
    if (wires == MODE_HOST && port == LAST_PORT) begin
      partner = '0;
    end
  endfunction

  assign accept = (wanted_mode == mode) ? '1 : in_frame;
  assign taken = rx_valid & rx_ready;

  for (genvar port = 0; port < PORTS; port++) begin : g_port
    logic [PORT_BITS-1:0] other;
    assign other = partner(mode, PORT_BITS'(port));

    assign in_valid[port] = rx_valid[other] && accept[other];
    assign in_word[port] = {rx_last[other], rx_meta_length[other], rx_data[other]};
    assign rx_ready[port] = in_ready[other] && accept[port];

    skid_buffer #(
        .WIDTH(WORD_BITS)
    ) u_buffer (
        .clk(clk),
        .rst(rst),
        .s_valid(in_valid[port]),
        .s_ready(in_ready[port]),
        .s_data(in_word[port]),
        .m_valid(tx_valid[port]),
        .m_ready(tx_ready[port]),
        .m_data(out_word[port])
    );

    assign {tx_last[port], tx_meta_length[port], tx_data[port]} = out_word[port];

    always_ff @(posedge clk) begin
      if (rst) begin
        in_frame[port] <= 1'b0;
        frames[port]   <= '0;
        words[port]    <= '0;
      end else if (taken[port]) begin
        in_frame[port] <= !rx_last[port];
        words[port]    <= words[port] + 1;
        if (rx_last[port]) begin
          frames[port] <= frames[port] + 1;
        end
      end
    end
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      mode        <= MODE_LOOPBACK;
      wanted_mode <= MODE_LOOPBACK;
      scratch     <= '0;
    end else begin
      if (in_frame == '0 && taken == '0) begin
        mode <= wanted_mode;
      end
      if (reg_write && reg_address == ADDRESS_MODE) begin
        wanted_mode <= (reg_wdata < 32'd3) ? mode_t'(reg_wdata[1:0]) : MODE_LOOPBACK;
      end
      if (reg_write && reg_address == ADDRESS_SCRATCH) begin
        scratch <= reg_wdata;
      end
    end
  end

  always_ff @(posedge clk) begin
    if (reg_read) begin
      reg_rdata <= '0;
      if (reg_address == ADDRESS_MODE) begin
        reg_rdata <= {30'd0, mode};
      end
      if (reg_address == ADDRESS_SEED) begin
        reg_rdata <= seed;
      end
      if (reg_address == ADDRESS_SCRATCH) begin
        reg_rdata <= scratch;
      end
      for (int port = 0; port < PORTS; port++) begin
        if (reg_address == ADDRESS_FRAMES + 16'(4 * port)) begin
          reg_rdata <= frames[port];
        end
        if (reg_address == ADDRESS_WORDS + 16'(4 * port)) begin
          reg_rdata <= words[port];
        end
      end
    end
  end
endmodule
