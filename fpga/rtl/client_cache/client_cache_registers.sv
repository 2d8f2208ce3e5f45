// Registers of the card. A word of 4 bytes each; a read takes a cycle.
//
// Global, from address 0:
//    0 mode            bit 0: the cache is on
//    1 options         0 memcached's frame header, 1 safe writes, 2 fill, 3 a tag serves one request
//                      in a lifetime, 5:4 SETs (0 invalidate, 1 update, 2 store), 6 drop requests
//                      that find their queue full
//    2 memcached_port
//    3 port_mask       bits in which a port may differ from memcached_port
//    4 lifetime        longest time that a packet is on its way to a server and back, in units
//    5 max_age         of a value that is served, in units; 0: no limit
//    6 promiscuous     one bit for each function
//    7 command         a write of 1: everything stored is invalid; of 2: that, and no delayed flush is
//                      under way; of 3 in bits 1:0: the clock stood still for 31:2 units
//    8 link_up         one bit for each function
//    9...              `status`, read only
// Of function f, or group f, from address 0x1000 + 0x100 f:
//    0 mac_low, 1 mac_high  its address, the first byte in bits 7:0 of mac_low
//    2 group           of the function; functions of a group share entries
//    3 weight          bytes in a turn; 4 rate: bytes in 1,024 cycles to the network, 0: no limit
//    5 quota           of the function in the miss table
//    6 controller      of the group; another number than that of a controller: no cache
//    7 slice_base, 8 slice_mask  place of a key of the group: slice_base | CRC16 & slice_mask
//   16... counters, 48 epochs of the group, 49 state of the group, 50... `function_status`; read only
//
// `reconfigured` is high for a cycle after a write, except to mode, that changes what the cache sees
// or how it works.
module client_cache_registers #(
    parameter int FUNCTIONS = 1,
    parameter int CONTROLLERS = 1,
    parameter int MISS_ENTRIES = 256,
    parameter int STATUSES = 1
) (
    input  logic                                clk,
    input  logic                                rst,

    input  logic [15:0]                         reg_address,
    input  logic                                reg_write,
    input  logic [31:0]                         reg_wdata,
    input  logic                                reg_read,
    output logic [31:0]                         reg_rdata,

    output logic                                cache_on,
    output client_cache_pkg::settings_t         settings,
    output logic                                drop_requests,
    output logic [15:0]                         memcached_port,
    output logic [15:0]                         port_mask,
    output logic [31:0]                         lifetime,
    output logic [FUNCTIONS-1:0]                promiscuous,
    output logic [FUNCTIONS-1:0]                link_up,
    output logic [FUNCTIONS-1:0][47:0]          mac,
    output logic [FUNCTIONS-1:0][client_cache_pkg::FUNCTION_BITS-1:0] groups,
    output logic [FUNCTIONS-1:0][15:0]          weight,
    output logic [FUNCTIONS-1:0][15:0]          rate,
    output logic [FUNCTIONS-1:0][8:0]           quota,
    output logic [FUNCTIONS-1:0][3:0]           controller,  // of the groups
    output logic [FUNCTIONS-1:0][15:0]          slice_base,
    output logic [FUNCTIONS-1:0][15:0]          slice_mask,
    output logic                                invalidate,
    output logic                                clear_flushes,
    output logic [31:0]                         elapsed,     // units
    output logic                                reconfigured,

    input  logic [STATUSES-1:0][31:0]           status,
    input  logic [FUNCTIONS-1:0][client_cache_pkg::COUNTERS-1:0][31:0] counters,
    input  logic [FUNCTIONS-1:0][31:0]          epochs,
    input  logic [FUNCTIONS-1:0][31:0]          group_state,
    input  logic [FUNCTIONS-1:0][client_cache_pkg::FUNCTION_STATUSES-1:0][31:0] function_status
);
  localparam logic [31:0] DEFAULT_LIFETIME = 32'd24_414;  // 0.1 s at 250 MHz
  localparam logic [15:0] DEFAULT_WEIGHT = 16'd4096;
  localparam int GLOBALS = 9;
  localparam int COMMAND = 7;
  // Groups that share a controller have equal slices of its table.
  localparam int SHARERS = CONTROLLERS == 0 ? 1 : (FUNCTIONS + CONTROLLERS - 1) / CONTROLLERS;
  localparam int SLICE_BITS = $clog2(SHARERS);

  logic [GLOBALS-1:0][31:0] globals;
  logic                     is_global;
  logic                     is_function;
  logic [5:0]               word;
  logic [3:0]               number;     // of the function
  logic                     command;
  logic [FUNCTIONS-1:0][31:0] function_data;

  assign is_global   = reg_address[15:12] == 4'd0 && reg_address[11:8] == 4'd0;
  assign is_function = reg_address[15:12] == 4'd1;
  assign number      = reg_address[11:8];
  assign word        = reg_address[7:2];

  assign cache_on              = globals[0][0];
  assign settings.udp_header   = globals[1][0];
  assign settings.safe_writes  = globals[1][1];
  assign settings.fill         = globals[1][2];
  assign settings.single_use   = globals[1][3];
  assign settings.set_mode     = client_cache_pkg::set_mode_t'(globals[1][5:4]);
  assign settings.max_age      = memcached_pkg::NOW_BITS'(globals[5]);
  assign drop_requests         = globals[1][6];
  assign memcached_port        = globals[2][15:0];
  assign port_mask             = globals[3][15:0];
  assign lifetime              = globals[4];
  assign promiscuous           = globals[6][FUNCTIONS-1:0];
  assign link_up               = globals[8][FUNCTIONS-1:0];

  assign command       = reg_write && is_global && word == 6'(COMMAND);
  assign invalidate    = command && (reg_wdata == 32'd1 || reg_wdata == 32'd2);
  assign clear_flushes = command && reg_wdata == 32'd2;
  assign elapsed       = command && reg_wdata[1:0] == 2'd3 ? {2'd0, reg_wdata[31:2]} : '0;

  always_ff @(posedge clk) begin
    reconfigured <= reg_write && !rst && ((is_global && word >= 6'd1 && word <= 6'd3)
        || (is_function && (word == 6'd2 || (word >= 6'd6 && word <= 6'd8))));
    if (rst) begin
      globals <= {
        32'hff, 32'd0, FUNCTIONS == 1 ? 32'd1 : 32'd0, 32'd0, DEFAULT_LIFETIME, 32'd0, 32'd11211,
        32'h17, 32'd0
      };
    end else if (reg_write && is_global) begin
      for (int i = 0; i < GLOBALS; i++) begin
        if (word == 6'(i)) globals[i] <= reg_wdata;
      end
    end
  end

  for (genvar i = 0; i < FUNCTIONS; i++) begin : each
    localparam int POSITION = CONTROLLERS == 0 ? 0 : i / CONTROLLERS;
    localparam int OWN = CONTROLLERS == 0 ? 0 : i % CONTROLLERS;
    logic own;
    assign own = is_function && number == 4'(i);

    always_ff @(posedge clk) begin
      if (rst) begin
        mac[i]        <= {8'(i + 1), 40'h00_0000_0002};
        groups[i]     <= client_cache_pkg::FUNCTION_BITS'(i);
        weight[i]     <= DEFAULT_WEIGHT;
        rate[i]       <= '0;
        quota[i]      <= 9'(MISS_ENTRIES / SHARERS);
        controller[i] <= 4'(OWN);
        slice_base[i] <= 16'(POSITION << (16 - SLICE_BITS));
        slice_mask[i] <= 16'(16'hffff >> SLICE_BITS);
      end else if (reg_write && own) begin
        case (word)
          6'd0: mac[i][31:0] <= reg_wdata;
          6'd1: mac[i][47:32] <= reg_wdata[15:0];
          6'd2: begin
            groups[i] <= reg_wdata < 32'(FUNCTIONS)
                ? reg_wdata[client_cache_pkg::FUNCTION_BITS-1:0]
                : client_cache_pkg::FUNCTION_BITS'(i);
          end
          6'd3: weight[i] <= reg_wdata[15:0];
          6'd4: rate[i] <= reg_wdata[15:0];
          6'd5: quota[i] <= reg_wdata[8:0];
          6'd6: controller[i] <= reg_wdata > 32'd15 ? 4'd15 : reg_wdata[3:0];
          6'd7: slice_base[i] <= reg_wdata[15:0];
          6'd8: slice_mask[i] <= reg_wdata[15:0];
          default: ;
        endcase
      end
    end

    // Collected for a read only: a simulation skips that in all other cycles.
    always_comb begin
      function_data[i] = '0;
      if (reg_read && own) begin
        case (word)
          6'd0: function_data[i] = mac[i][31:0];
          6'd1: function_data[i] = 32'(mac[i][47:32]);
          6'd2: function_data[i] = 32'(groups[i]);
          6'd3: function_data[i] = 32'(weight[i]);
          6'd4: function_data[i] = 32'(rate[i]);
          6'd5: function_data[i] = 32'(quota[i]);
          6'd6: function_data[i] = 32'(controller[i]);
          6'd7: function_data[i] = 32'(slice_base[i]);
          6'd8: function_data[i] = 32'(slice_mask[i]);
          6'd48: function_data[i] = epochs[i];
          6'd49: function_data[i] = group_state[i];
          default: begin
            for (int at = 0; at < client_cache_pkg::COUNTERS; at++) begin
              if (word == 6'(16 + at)) function_data[i] = counters[i][at];
            end
            for (int at = 0; at < client_cache_pkg::FUNCTION_STATUSES; at++) begin
              if (word == 6'(50 + at)) function_data[i] = function_status[i][at];
            end
          end
        endcase
      end
    end
  end

  always_ff @(posedge clk) begin
    if (reg_read) begin
      reg_rdata <= '0;
      if (is_global) begin
        for (int i = 0; i < GLOBALS; i++) begin
          if (word == 6'(i)) reg_rdata <= globals[i];
        end
        for (int i = 0; i < STATUSES; i++) begin
          if (word == 6'(GLOBALS + i)) reg_rdata <= status[i];
        end
      end
      for (int i = 0; i < FUNCTIONS; i++) begin
        if (is_function && number == 4'(i)) reg_rdata <= function_data[i];
      end
    end
  end

  logic unused;
  assign unused = &{1'b0, globals, reg_address[1:0]};
endmodule
