// MSI-X of a function: table and pending bits in BAR 0, and the messages of interrupts.
//
//   0x8000 + 16v  message address, upper address, data, and mask (bit 0) of vector v
//   0x9000        pending bits
//
// An interrupt while its vector is masked stays pending. Latency: one cycle.
module virtio_msix #(
    parameter int VECTORS = 3
) (
    input  logic             clk,
    input  logic             rst,

    input  logic             bar_select,
    input  logic [15:0]      bar_address,
    input  logic             bar_write,
    input  logic [3:0]       bar_strobe,
    input  logic [31:0]      bar_wdata,
    input  logic             bar_read,
    output logic [31:0]      bar_rdata,  // in the cycle after bar_read; 0 for other addresses

    input  logic             enable,
    input  logic             mask,       // of all vectors
    input  logic [2:0]       irq,        // pulses
    input  logic [2:0][15:0] irq_vector,

    // a message: a write of 32 bits
    output logic             m_valid,
    input  logic             m_ready,
    output logic [63:0]      m_address,
    output logic [31:0]      m_data
);
  logic [VECTORS-1:0][3:0][31:0] entries;
  logic [VECTORS-1:0]            masked;
  logic [VECTORS-1:0]            pending;
  logic [VECTORS-1:0]            raised;
  logic [VECTORS-1:0]            ready;   // pending and not masked
  logic [VECTORS-1:0]            chosen;
  logic                          load;
  logic                          table_access;
  logic [11:0]                   entry;   // of an access
  logic [31:0]                   found;

  assign table_access = bar_address[15:12] == 4'h8;
  assign entry        = {4'd0, bar_address[11:4]};

  always_comb begin
    raised = '0;
    for (int v = 0; v < VECTORS; v++) begin
      masked[v] = entries[v][3][0];
      for (int i = 0; i < 3; i++) begin
        if (irq[i] && irq_vector[i] == 16'(v)) raised[v] = 1'b1;
      end
    end
  end

  assign ready  = pending & ~masked & {VECTORS{enable && !mask}};
  assign chosen = ready & (~ready + 1'b1);
  assign load   = !m_valid || m_ready;

  always_comb begin
    found = '0;
    for (int v = 0; v < VECTORS; v++) begin
      if (table_access && entry == 12'(v)) found = entries[v][bar_address[3:2]];
    end
    if (bar_address[15:2] == 14'h2400) found = 32'(pending);
  end

  always_ff @(posedge clk) begin
    if (bar_select && bar_read) bar_rdata <= found;
    if (load) begin
      for (int v = 0; v < VECTORS; v++) begin
        if (chosen[v]) begin
          m_address <= {entries[v][1], entries[v][0]};
          m_data    <= entries[v][2];
        end
      end
    end
    if (rst) begin
      m_valid <= 1'b0;
      pending <= '0;
      // Vectors are masked until the driver fills its entry.
      for (int v = 0; v < VECTORS; v++) entries[v] <= {32'd1, 96'd0};
    end else begin
      m_valid <= load ? chosen != '0 : m_valid;
      pending <= enable ? (pending & ~(load ? chosen : '0)) | raised : '0;
      if (bar_select && bar_write && table_access) begin
        for (int v = 0; v < VECTORS; v++) begin
          if (entry == 12'(v)) begin
            for (int i = 0; i < 4; i++) begin
              if (bar_strobe[i]) entries[v][bar_address[3:2]][8*i+:8] <= bar_wdata[8*i+:8];
            end
          end
        end
      end
    end
  end

  logic unused;
  assign unused = &{1'b0, bar_address[1:0]};
endmodule
