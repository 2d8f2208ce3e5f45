// Emu as a design: one network port, and a host port that it does not use.
//
// Registers, one word of 4 bytes each:
//   0 options (0 memcached's frame header), 1 udp_port
//   2 mac_low, 3 mac_high, 4 address  its own, the first byte on the wire in bits 7:0; 0: any
//   read only: 5 hits, 6 misses, 7 stores, 8 deletes, 9 dropped, 10 corrupt
module emu_top #(
    parameter int NETWORK_PORTS = 1,
    parameter int BYTES = 32,  // of a word; Emu has 32
    parameter int ENTRIES = 1024,
    localparam int PORTS = NETWORK_PORTS + 1
) (
    input  logic                          clk,
    input  logic                          rst,
    input  logic [31:0]                   seed,

    input  logic [PORTS-1:0]              rx_valid,
    output logic [PORTS-1:0]              rx_ready,
    input  logic [PORTS-1:0][8*BYTES-1:0] rx_data,
    input  logic [PORTS-1:0]              rx_last,
    input  logic [PORTS-1:0][15:0]        rx_meta_length,

    output logic [PORTS-1:0]              tx_valid,
    input  logic [PORTS-1:0]              tx_ready,
    output logic [PORTS-1:0][8*BYTES-1:0] tx_data,
    output logic [PORTS-1:0]              tx_last,
    output logic [PORTS-1:0][15:0]        tx_meta_length,

    input  logic [15:0]                   reg_address,
    input  logic                          reg_write,
    input  logic [31:0]                   reg_wdata,
    input  logic                          reg_read,
    output logic [31:0]                   reg_rdata
);
  logic [4:0][31:0]       control;
  logic [31:0]            hits;
  logic [31:0]            misses;
  logic [31:0]            stores;
  logic [31:0]            deletes;
  logic [31:0]            dropped;
  logic [31:0]            corrupt_frames;
  logic [PORTS-1:0][31:0] received;

  register_file #(
      .CONTROLS(5),
      .STATUSES(6),
      .RESET({32'd0, 32'd0, 32'd0, 32'd11211, 32'd1})
  ) registers (
      .clk,
      .rst,
      .address(reg_address),
      .write  (reg_write),
      .wdata  (reg_wdata),
      .read   (reg_read),
      .rdata  (reg_rdata),
      .control,
      .status ({corrupt_frames, dropped, deletes, stores, misses, hits})
  );

  logic           in_valid;
  logic           in_ready;
  logic [255:0]   in_data;
  logic           in_last;
  net_pkg::meta_t in_meta;
  logic           out_valid;
  logic           out_ready;
  logic [255:0]   out_data;
  logic           out_last;
  net_pkg::meta_t out_meta;

  input_arbiter #(
      .PORTS(PORTS)
  ) arbiter (
      .clk,
      .rst,
      .s_valid (rx_valid),
      .s_ready (rx_ready),
      .s_data  (rx_data),
      .s_last  (rx_last),
      .s_length(rx_meta_length),
      .m_valid (in_valid),
      .m_ready (in_ready),
      .m_data  (in_data),
      .m_last  (in_last),
      .m_meta  (in_meta),
      .received
  );

  emu_core #(
      .ENTRIES(ENTRIES)
  ) core (
      .clk,
      .rst,
      .udp_header(control[0][0]),
      .udp_port  (control[1][15:0]),
      .mac       ({control[3][15:0], control[2]}),
      .address   (control[4]),
      .s_valid   (in_valid),
      .s_ready   (in_ready),
      .s_data    (in_data),
      .s_last    (in_last),
      .s_meta    (in_meta),
      .m_valid   (out_valid),
      .m_ready   (out_ready),
      .m_data    (out_data),
      .m_last    (out_last),
      .m_meta    (out_meta),
      .hits,
      .misses,
      .stores,
      .deletes,
      .dropped,
      .corrupt_frames
  );

  assign out_ready = (tx_ready & out_meta.destination[PORTS-1:0]) != '0;
  for (genvar i = 0; i < PORTS; i++) begin : ports
    assign tx_valid[i]       = out_valid && out_meta.destination[i];
    assign tx_data[i]        = out_data;
    assign tx_last[i]        = out_last;
    assign tx_meta_length[i] = out_meta.length;
  end

  logic unused;
  assign unused = &{1'b0, seed, control, received, out_meta};
endmodule
