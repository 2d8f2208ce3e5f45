// PCI configuration space of a function, for a board whose PCIe block leaves it to the user: header,
// BAR 0 of 64 KiB, and the capabilities by which a driver finds the registers (virtio 1.2, section
// 4.1.4).
//
//   0x40  MSI-X: table at 0x8000 of BAR 0, pending bits at 0x9000 (`virtio_msix`)
//   0x50  common configuration, 0x60  ISR, 0x70  device configuration, 0x80  notifications
//   0x94  window: accesses of BAR 0 by configuration accesses
//
// Throughput: one access every three cycles. Latency of a read: two cycles.
module virtio_pci_config (
    input  logic        clk,
    input  logic        rst,

    // configuration accesses
    input  logic [7:0]  cfg_address,  // of a word
    input  logic        cfg_write,
    input  logic [3:0]  cfg_strobe,
    input  logic [31:0] cfg_wdata,
    input  logic        cfg_read,
    output logic [31:0] cfg_rdata,
    output logic        cfg_rvalid,   // pulse, two cycles after cfg_read

    // accesses of BAR 0 through the window
    output logic [15:0] bar_address,
    output logic        bar_write,
    output logic [3:0]  bar_strobe,
    output logic [31:0] bar_wdata,
    output logic        bar_read,
    input  logic [31:0] bar_rdata,    // in the cycle after bar_read

    input  logic        irq_pin,      // ISR status is not 0
    output logic        intx,         // level of the interrupt pin
    output logic        memory_enable,
    output logic        bus_master,
    output logic [63:0] bar_base,
    output logic        msix_enable,
    output logic        msix_mask     // of all vectors
);
  localparam logic [15:0] VENDOR = 16'h1af4;
  localparam logic [15:0] DEVICE = 16'h1041;     // network device, virtio 1.x
  localparam logic [15:0] SUBSYSTEM = 16'h0041;  // not transitional
  localparam int VECTORS = 3;

  localparam logic [7:0] MSIX = 8'h40;
  localparam logic [7:0] COMMON = 8'h50;
  localparam logic [7:0] ISR = 8'h60;
  localparam logic [7:0] SPECIFIC = 8'h70;
  localparam logic [7:0] NOTIFY = 8'h80;
  localparam logic [7:0] WINDOW = 8'h94;

  logic        intx_disable;
  logic [15:0] bar_low;       // bits 31 to 16
  logic [31:0] bar_high;
  logic [7:0]  interrupt_line;
  logic [7:0]  window_bar;
  logic [31:0] window_offset;
  logic [31:0] window_length;
  logic        window;        // access of the window's data
  logic        window_ok;
  logic [3:0]  window_bytes;
  logic        read_before;   // a read, one cycle ago
  logic        window_before;
  logic [31:0] found;
  logic [31:0] found_before;

  // The first word of a capability of virtio.
  function automatic logic [31:0] capability(input logic [7:0] kind, input logic [7:0] bytes,
                                             input logic [7:0] next);
    capability = {kind, bytes, next, 8'h09};
  endfunction

  always_comb begin
    case ({cfg_address[7:2], 2'b00})
      8'h00: found = {DEVICE, VENDOR};
      8'h04: begin
        found = {
          12'h001, irq_pin, 3'd0, 5'd0, intx_disable, 7'd0, bus_master, memory_enable, 1'b0
        };
      end
      8'h08: found = 32'h0200_0001;  // Ethernet controller, revision 1
      8'h10: found = {bar_low, 16'h0004};  // memory, 64 bits
      8'h14: found = bar_high;
      8'h2c: found = {SUBSYSTEM, VENDOR};
      8'h34: found = 32'(MSIX);
      8'h3c: found = {16'h0000, 8'h01, interrupt_line};

      MSIX: found = {msix_enable, msix_mask, 3'd0, 11'(VECTORS - 1), COMMON, 8'h11};
      MSIX + 8'h04: found = 32'h0000_8000;
      MSIX + 8'h08: found = 32'h0000_9000;

      COMMON: found = capability(8'd1, 8'd16, ISR);
      COMMON + 8'h0c: found = 32'd64;
      ISR: found = capability(8'd3, 8'd16, SPECIFIC);
      ISR + 8'h08: found = 32'h0000_1000;
      ISR + 8'h0c: found = 32'd1;
      SPECIFIC: found = capability(8'd4, 8'd16, NOTIFY);
      SPECIFIC + 8'h08: found = 32'h0000_2000;
      SPECIFIC + 8'h0c: found = 32'd8;
      NOTIFY: found = capability(8'd2, 8'd20, WINDOW);
      NOTIFY + 8'h08: found = 32'h0000_3000;
      NOTIFY + 8'h0c: found = 32'd8;
      NOTIFY + 8'h10: found = 32'd4;  // bytes from one queue to the next
      WINDOW: found = capability(8'd5, 8'd20, 8'd0);
      WINDOW + 8'h04: found = {24'd0, window_bar};
      WINDOW + 8'h08: found = window_offset;
      WINDOW + 8'h0c: found = window_length;
      default: found = '0;
    endcase
  end

  // The window: 1, 2 or 4 bytes, which begin at a multiple of their number.
  assign window = cfg_address[7:2] == 6'((WINDOW + 8'h10) >> 2);

  always_comb begin
    window_bytes = 4'h0;
    if (window_bar == '0 && window_offset[31:16] == '0) begin
      case (window_length)
        32'd1: window_bytes = 4'h1;
        32'd2: if (!window_offset[0]) window_bytes = 4'h3;
        32'd4: if (window_offset[1:0] == '0) window_bytes = 4'hf;
        default: window_bytes = 4'h0;
      endcase
    end
  end

  assign window_ok   = window && window_bytes != '0;
  assign bar_address = window_offset[15:0];
  assign bar_strobe  = window_bytes << window_offset[1:0];
  assign bar_wdata   = cfg_wdata << {window_offset[1:0], 3'd0};
  assign bar_write   = cfg_write && window_ok;
  assign bar_read    = cfg_read && window_ok;

  assign intx     = irq_pin && !intx_disable && !msix_enable;
  assign bar_base = {bar_high, bar_low, 16'd0};

  always_ff @(posedge clk) begin
    found_before  <= found;
    window_before <= window_ok;
    if (read_before) begin
      cfg_rdata <= window_before ? bar_rdata >> {window_offset[1:0], 3'd0} : found_before;
    end
    if (rst) begin
      read_before    <= 1'b0;
      cfg_rvalid     <= 1'b0;
      intx_disable   <= 1'b0;
      memory_enable  <= 1'b0;
      bus_master     <= 1'b0;
      bar_low        <= '0;
      bar_high       <= '0;
      interrupt_line <= '0;
      msix_enable    <= 1'b0;
      msix_mask      <= 1'b0;
      window_bar     <= '0;
      window_offset  <= '0;
      window_length  <= '0;
    end else begin
      read_before <= cfg_read;
      cfg_rvalid  <= read_before;
      if (cfg_write) begin
        for (int i = 0; i < 4; i++) begin
          if (cfg_strobe[i]) begin
            case ({cfg_address[7:2], 2'b00})
              8'h14: bar_high[8*i+:8] <= cfg_wdata[8*i+:8];
              WINDOW + 8'h08: window_offset[8*i+:8] <= cfg_wdata[8*i+:8];
              WINDOW + 8'h0c: window_length[8*i+:8] <= cfg_wdata[8*i+:8];
              default: ;
            endcase
          end
        end
        case ({cfg_address[7:2], 2'b00})
          8'h04: begin
            if (cfg_strobe[0]) begin
              memory_enable <= cfg_wdata[1];
              bus_master    <= cfg_wdata[2];
            end
            if (cfg_strobe[1]) intx_disable <= cfg_wdata[10];
          end
          8'h10: begin
            if (cfg_strobe[2]) bar_low[7:0] <= cfg_wdata[23:16];
            if (cfg_strobe[3]) bar_low[15:8] <= cfg_wdata[31:24];
          end
          8'h3c: if (cfg_strobe[0]) interrupt_line <= cfg_wdata[7:0];
          MSIX: begin
            if (cfg_strobe[3]) begin
              msix_enable <= cfg_wdata[31];
              msix_mask   <= cfg_wdata[30];
            end
          end
          WINDOW + 8'h04: if (cfg_strobe[0]) window_bar <= cfg_wdata[7:0];
          default: ;
        endcase
      end
    end
  end

  logic unused;
  assign unused = &{1'b0, cfg_address[1:0]};
endmodule
