// Registers of a function that its driver sees in BAR 0 (virtio 1.2, section 4.1.4), feature
// negotiation, device status, and interrupts.
//
//   0x0000      common configuration
//   0x1000      ISR status; a read clears it
//   0x2000      device configuration: MAC address, link status
//   0x3000 + 4q notification of queue q
//   0x4000 + 4q before queue_enable: index of the first entry of queue q, for a host that hands over
//               a running queue. A read gives the index of the next entry whose chain was not
//               returned (lower half), and the same at the last reset (upper half).
//
// Rules
// 1. FEATURES_OK is refused unless the driver takes VERSION_1, and nothing that was not offered.
// 2. A queue runs if it is enabled and the driver is ready, and not after an error (NEEDS_RESET).
// 3. A reset (a write of 0 to device_status) stops the queues. The status reads as before until no
//    read or write is under way; then all registers are as at first. Writes until then are ignored.
// 4. A queue that is enabled keeps its size and addresses until a reset.
module virtio_registers #(
    parameter int QUEUE_SIZE = 256  // largest size of a queue; a power of two
) (
    input  logic                         clk,
    input  logic                         rst,

    input  logic                         bar_select,
    input  logic [15:0]                  bar_address,
    input  logic                         bar_write,
    input  logic [3:0]                   bar_strobe,
    input  logic [31:0]                  bar_wdata,
    input  logic                         bar_read,
    output logic [31:0]                  bar_rdata,  // in the cycle after bar_read

    input  logic [47:0]                  mac,
    input  logic                         link_up,

    output logic [1:0]                   run,
    output virtio_pkg::queue_t           receive_queue,
    output virtio_pkg::queue_t           transmit_queue,
    output logic [1:0]                   kick,
    input  logic [1:0][15:0]             used_index,
    input  logic                         error,          // the device needs a reset
    input  logic                         quiet,          // nothing is under way in host memory
    input  logic [1:0]                   queue_interrupt,

    output logic [2:0]                   irq,  // pulses: configuration, receive, transmit
    output logic [2:0][15:0]             irq_vector,
    output logic                         irq_pin
);
  localparam int QUEUES = virtio_pkg::QUEUES;
  localparam int VECTORS = 3;
  localparam logic [63:0] OFFERED = 64'(1) << virtio_pkg::FEATURE_VERSION_1
      | 64'(1) << virtio_pkg::FEATURE_MAC | 64'(1) << virtio_pkg::FEATURE_STATUS;

  logic        device_feature_select;  // upper half; other selections read as 0
  logic        device_feature_none;
  logic        driver_feature_select;
  logic        driver_feature_none;
  logic [63:0] driver_features;
  logic [7:0]  status;
  logic [7:0]  generation;
  logic [15:0] queue_select;
  logic [15:0] config_vector;
  logic [1:0]  isr;
  logic        resetting;
  logic [1:0]  reset_cycles;  // since `resetting`
  logic        reset_done;
  logic        link_was_up;
  logic [47:0] mac_before;

  logic [QUEUES-1:0]       enabled;
  logic [QUEUES-1:0][15:0] size;
  logic [QUEUES-1:0][15:0] vector;
  logic [QUEUES-1:0][63:0] desc;
  logic [QUEUES-1:0][63:0] driver;
  logic [QUEUES-1:0][63:0] device;
  logic [QUEUES-1:0][15:0] start;
  logic [QUEUES-1:0][15:0] stopped;  // index at the last reset

  logic        writes;
  logic        common;      // address of the common configuration
  logic [3:0]  index;       // of its word
  logic        selected;    // an existing queue
  logic        queue;       // its number
  logic        features_ok;
  logic        isr_read;
  logic        config_change;
  logic [2:0]  events;      // that interrupt the driver
  logic        fails;       // NEEDS_RESET is set in this cycle
  logic [31:0] rdata;

  assign writes   = bar_select && bar_write && !resetting;
  assign common   = bar_address[15:6] == '0;
  assign index    = bar_address[5:2];
  assign selected = queue_select < 16'(QUEUES);
  assign queue    = queue_select[0];

  // A word with the bytes that are written.
  function automatic logic [31:0] merge(input logic [31:0] old, input logic [31:0] written,
                                        input logic [3:0] strobe);
    for (int i = 0; i < 4; i++) begin
      merge[8*i+:8] = strobe[i] ? written[8*i+:8] : old[8*i+:8];
    end
  endfunction

  function automatic logic [15:0] usable_vector(input logic [15:0] wanted);
    usable_vector = wanted < 16'(VECTORS) ? wanted : virtio_pkg::NO_VECTOR;
  endfunction

  assign features_ok = driver_features[virtio_pkg::FEATURE_VERSION_1]
      && (driver_features & ~OFFERED) == '0;

  // Reads.
  always_comb begin
    rdata = '0;
    if (common) begin
      case (index)
        4'd0: rdata = {30'd0, device_feature_none, device_feature_select};
        4'd1: begin
          if (!device_feature_none) rdata = device_feature_select ? OFFERED[63:32] : OFFERED[31:0];
        end
        4'd2: rdata = {30'd0, driver_feature_none, driver_feature_select};
        4'd3: begin
          if (!driver_feature_none) begin
            rdata = driver_feature_select ? driver_features[63:32] : driver_features[31:0];
          end
        end
        4'd4: rdata = {16'(QUEUES), config_vector};
        4'd5: rdata = {queue_select, generation, status};
        4'd6: rdata = selected ? {vector[queue], size[queue]} : {virtio_pkg::NO_VECTOR, 16'd0};
        4'd7: rdata = selected ? {queue_select, 15'd0, enabled[queue]} : 32'd0;
        4'd8: rdata = selected ? desc[queue][31:0] : 32'd0;
        4'd9: rdata = selected ? desc[queue][63:32] : 32'd0;
        4'd10: rdata = selected ? driver[queue][31:0] : 32'd0;
        4'd11: rdata = selected ? driver[queue][63:32] : 32'd0;
        4'd12: rdata = selected ? device[queue][31:0] : 32'd0;
        4'd13: rdata = selected ? device[queue][63:32] : 32'd0;
        default: rdata = '0;
      endcase
    end else begin
      case (bar_address[15:2])
        14'h0400: rdata = {30'd0, isr};
        14'h0800: rdata = mac[31:0];
        14'h0801: rdata = {15'd0, link_up, mac[47:32]};
        14'h1000: rdata = {stopped[0], run[0] ? used_index[0] : start[0]};
        14'h1001: rdata = {stopped[1], run[1] ? used_index[1] : start[1]};
        default: rdata = '0;
      endcase
    end
  end

  assign isr_read = bar_select && bar_read && bar_address[15:2] == 14'h0400;

  always_ff @(posedge clk) begin
    if (bar_select && bar_read) bar_rdata <= rdata;
  end

  // Notifications.
  for (genvar q = 0; q < QUEUES; q++) begin : notifications
    assign kick[q] = writes && bar_address[15:2] == 14'(16'h0c00 + q);
    assign run[q]  = enabled[q] && status[virtio_pkg::STATUS_DRIVER_OK]
        && !status[virtio_pkg::STATUS_NEEDS_RESET] && !resetting;
  end

  // The queues, with addresses as their alignment demands.
  assign receive_queue = {
    desc[0][63:4], 4'd0, driver[0][63:1], 1'b0, device[0][63:2], 2'd0, size[0], start[0]
  };
  assign transmit_queue = {
    desc[1][63:4], 4'd0, driver[1][63:1], 1'b0, device[1][63:2], 2'd0, size[1], start[1]
  };

  // Interrupts. NEEDS_RESET is the configuration's last change before a reset.
  assign fails = error && run != '0;
  assign config_change = link_up != link_was_up || mac != mac_before;
  assign events = {
    queue_interrupt & run,
    status[virtio_pkg::STATUS_DRIVER_OK] && !resetting
        && (fails || (config_change && driver_features[virtio_pkg::FEATURE_STATUS]))
  };
  assign irq_vector = {vector[1], vector[0], config_vector};
  assign irq_pin = isr != '0;

  assign reset_done = resetting && quiet && reset_cycles == '1;

  always_ff @(posedge clk) begin
    logic [31:0] word;
    logic [15:0] wanted_size;

    link_was_up  <= link_up;
    mac_before   <= mac;
    reset_cycles <= resetting ? reset_cycles + 2'(reset_cycles != '1) : '0;
    if (rst || reset_done) begin
      device_feature_select <= 1'b0;
      device_feature_none   <= 1'b0;
      driver_feature_select <= 1'b0;
      driver_feature_none   <= 1'b0;
      driver_features       <= '0;
      status                <= '0;
      queue_select          <= '0;
      config_vector         <= virtio_pkg::NO_VECTOR;
      resetting             <= 1'b0;
      enabled               <= '0;
      size                  <= {QUEUES{16'(QUEUE_SIZE)}};
      vector                <= {QUEUES{virtio_pkg::NO_VECTOR}};
      desc                  <= '0;
      driver                <= '0;
      device                <= '0;
      start                 <= '0;
      isr                   <= '0;
      irq                   <= '0;
    end else begin
      if (config_change) generation <= generation + 1'b1;
      irq <= events;
      isr <= (isr & ~{2{isr_read}}) | {events[0], events[2:1] != '0};
      if (fails) status[virtio_pkg::STATUS_NEEDS_RESET] <= 1'b1;

      if (writes && common) begin
        word = bar_wdata;
        case (index)
          4'd0: begin
            word = merge({30'd0, device_feature_none, device_feature_select}, bar_wdata, bar_strobe);
            device_feature_select <= word[0];
            device_feature_none   <= word[31:1] != '0;
          end
          4'd2: begin
            word = merge({30'd0, driver_feature_none, driver_feature_select}, bar_wdata, bar_strobe);
            driver_feature_select <= word[0];
            driver_feature_none   <= word[31:1] != '0;
          end
          4'd3: begin
            if (!driver_feature_none && !status[virtio_pkg::STATUS_FEATURES_OK]) begin
              if (driver_feature_select) begin
                driver_features[63:32] <= merge(driver_features[63:32], bar_wdata, bar_strobe);
              end else begin
                driver_features[31:0] <= merge(driver_features[31:0], bar_wdata, bar_strobe);
              end
            end
          end
          4'd4: begin
            word = merge({16'd0, config_vector}, bar_wdata, bar_strobe);
            config_vector <= usable_vector(word[15:0]);
          end
          4'd5: begin
            word = merge({queue_select, 8'd0, status}, bar_wdata, bar_strobe);
            queue_select <= word[31:16];
            if (bar_strobe[0]) begin
              if (bar_wdata[7:0] == '0) begin
                resetting <= 1'b1;
              end else begin
                status <= word[7:0];
                // Only the device sets this bit.
                status[virtio_pkg::STATUS_NEEDS_RESET] <=
                    status[virtio_pkg::STATUS_NEEDS_RESET] || fails;
                status[virtio_pkg::STATUS_FEATURES_OK] <= status[virtio_pkg::STATUS_FEATURES_OK]
                    || (word[virtio_pkg::STATUS_FEATURES_OK] && features_ok);
                status[virtio_pkg::STATUS_DRIVER_OK] <= status[virtio_pkg::STATUS_DRIVER_OK]
                    || (word[virtio_pkg::STATUS_DRIVER_OK]
                    && status[virtio_pkg::STATUS_FEATURES_OK]);
              end
            end
          end
          4'd6: begin
            if (selected) begin
              word = merge({vector[queue], size[queue]}, bar_wdata, bar_strobe);
              wanted_size = word[15:0];
              if (bar_strobe[3:2] != '0) vector[queue] <= usable_vector(word[31:16]);
              if (!enabled[queue] && wanted_size != '0 && wanted_size <= 16'(QUEUE_SIZE)
                  && (wanted_size & (wanted_size - 16'd1)) == '0) size[queue] <= wanted_size;
            end
          end
          4'd7: begin
            if (selected && bar_strobe[0] && bar_wdata[0]) enabled[queue] <= 1'b1;
          end
          4'd8, 4'd9, 4'd10, 4'd11, 4'd12, 4'd13: begin
            if (selected && !enabled[queue]) begin
              case (index)
                4'd8: desc[queue][31:0] <= merge(desc[queue][31:0], bar_wdata, bar_strobe);
                4'd9: desc[queue][63:32] <= merge(desc[queue][63:32], bar_wdata, bar_strobe);
                4'd10: driver[queue][31:0] <= merge(driver[queue][31:0], bar_wdata, bar_strobe);
                4'd11: driver[queue][63:32] <= merge(driver[queue][63:32], bar_wdata, bar_strobe);
                4'd12: device[queue][31:0] <= merge(device[queue][31:0], bar_wdata, bar_strobe);
                default: device[queue][63:32] <= merge(device[queue][63:32], bar_wdata, bar_strobe);
              endcase
            end
          end
          default: ;
        endcase
      end
      for (int q = 0; q < QUEUES; q++) begin
        if (writes && bar_address[15:2] == 14'(16'h1000 + q) && !enabled[q]) begin
          start[q] <= bar_wdata[15:0];
        end
      end
    end
    if (rst) begin
      generation <= '0;
      stopped    <= '0;
    end else begin
      for (int q = 0; q < QUEUES; q++) begin
        if (run[q]) stopped[q] <= used_index[q];
        else if (reset_done && !enabled[q]) stopped[q] <= '0;
      end
    end
  end

  logic unused;
  assign unused = &{1'b0, bar_address[1:0]};
endmodule
