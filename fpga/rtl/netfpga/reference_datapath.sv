// The NetFPGA reference design: a NIC or a learning switch, without LaKe.
// Input Arbiter -> Output Port Lookup -> Output Queues. Throughput: one word a cycle over all ports.
//
// Registers (words): 0 forwarding (0 NIC, 1 switch); then for each port the frames that were
// received (from 1), queued (from 1 + PORTS), and dropped at a full queue (from 1 + 2*PORTS).
module reference_datapath #(
    parameter int NETWORK_PORTS = 4,  // the host port is the next one
    parameter int BYTES = 32
) (
    input  logic                                      clk,
    input  logic                                      rst,

    input  logic [31:0]                               seed,

    input  logic [NETWORK_PORTS:0]                    rx_valid,
    output logic [NETWORK_PORTS:0]                    rx_ready,
    input  logic [NETWORK_PORTS:0][8*BYTES-1:0]       rx_data,
    input  logic [NETWORK_PORTS:0]                    rx_last,
    input  logic [NETWORK_PORTS:0][15:0]              rx_meta_length,

    output logic [NETWORK_PORTS:0]                    tx_valid,
    input  logic [NETWORK_PORTS:0]                    tx_ready,
    output logic [NETWORK_PORTS:0][8*BYTES-1:0]       tx_data,
    output logic [NETWORK_PORTS:0]                    tx_last,
    output logic [NETWORK_PORTS:0][15:0]              tx_meta_length,

    input  logic [15:0]                               reg_address,
    input  logic                                      reg_write,
    input  logic [31:0]                               reg_wdata,
    input  logic                                      reg_read,
    output logic [31:0]                               reg_rdata
);
  localparam int PORTS = NETWORK_PORTS + 1;

  logic [31:0]              control;
  logic [PORTS-1:0][31:0]   received;
  logic [PORTS-1:0][31:0]   accepted;
  logic [PORTS-1:0][31:0]   dropped;

  logic [PORTS-1:0][net_pkg::META_BITS-1:0] tx_meta;

  logic                     arbiter_valid;
  logic                     arbiter_ready;
  logic [8*BYTES-1:0]       arbiter_data;
  logic                     arbiter_last;
  net_pkg::meta_t           arbiter_meta;

  logic                     lookup_valid;
  logic                     lookup_ready;
  logic [8*BYTES-1:0]       lookup_data;
  logic                     lookup_last;
  net_pkg::meta_t           lookup_meta;
  logic                     lookup_drop_eligible;

  input_arbiter #(
      .PORTS(PORTS),
      .BYTES(BYTES)
  ) arbiter (
      .clk,
      .rst,
      .s_valid (rx_valid),
      .s_ready (rx_ready),
      .s_data  (rx_data),
      .s_last  (rx_last),
      .s_length(rx_meta_length),
      .m_valid (arbiter_valid),
      .m_ready (arbiter_ready),
      .m_data  (arbiter_data),
      .m_last  (arbiter_last),
      .m_meta  (arbiter_meta),
      .received
  );

  output_port_lookup #(
      .NETWORK_PORTS(NETWORK_PORTS),
      .BYTES        (BYTES)
  ) lookup (
      .clk,
      .rst,
      .forwarding     (netfpga_pkg::forwarding_t'(control[0])),
      .s_valid        (arbiter_valid),
      .s_ready        (arbiter_ready),
      .s_data         (arbiter_data),
      .s_last         (arbiter_last),
      .s_meta         (arbiter_meta),
      .s_drop_eligible(1'b0),
      .m_valid        (lookup_valid),
      .m_ready        (lookup_ready),
      .m_data         (lookup_data),
      .m_last         (lookup_last),
      .m_meta         (lookup_meta),
      .m_drop_eligible(lookup_drop_eligible)
  );

  output_queues #(
      .PORTS(PORTS),
      .BYTES(BYTES)
  ) queues (
      .clk,
      .rst,
      .s_valid        (lookup_valid),
      .s_ready        (lookup_ready),
      .s_data         (lookup_data),
      .s_last         (lookup_last),
      .s_meta         (lookup_meta),
      .s_drop_eligible(lookup_drop_eligible),
      .m_valid        (tx_valid),
      .m_ready        (tx_ready),
      .m_data         (tx_data),
      .m_last         (tx_last),
      .m_meta         (tx_meta),
      .accepted,
      .dropped
  );

  register_file #(
      .CONTROLS(1),
      .STATUSES(3 * PORTS)
  ) registers (
      .clk,
      .rst,
      .address(reg_address),
      .write  (reg_write),
      .wdata  (reg_wdata),
      .read   (reg_read),
      .rdata  (reg_rdata),
      .control,
      .status ({dropped, accepted, received})
  );

  for (genvar i = 0; i < PORTS; i++) begin : ports
    net_pkg::meta_t meta;
    logic           unused;
    assign meta              = tx_meta[i];
    assign tx_meta_length[i] = meta.length;
    assign unused            = &{1'b0, meta.source, meta.destination};
  end

  logic unused;
  assign unused = &{1'b0, control[31:1], seed};
endmodule
