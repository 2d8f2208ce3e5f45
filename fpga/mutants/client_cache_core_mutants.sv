// client_cache_core with one safety rule broken, for benches: `mutant` chooses it; 0 is client_cache_core as it
// is. netkv/schemes/client_cache/mutants.py lists them.
module client_cache_core_mutants #(
    parameter int FUNCTIONS = 1,      // 1 to 8
    parameter int CONTROLLERS = 1,    // 0 to FUNCTIONS
    parameter int INDEX_BITS = 16,
    parameter int KEY_BYTES = 64,
    parameter int VALUE_BYTES = 512,
    parameter int MISS_ENTRIES = 256, // of a controller
    parameter int PRESCALE = 10       // a unit of time has 2^PRESCALE cycles
) (
    input  int mutant,
    input  logic                            clk,
    input  logic                            rst,

    input  logic [31:0]                     skip,
    output logic                            idle,
    output logic [PRESCALE-1:0]             unit_left,

    input  logic [15:0]                     reg_address,
    input  logic                            reg_write,
    input  logic [31:0]                     reg_wdata,
    input  logic                            reg_read,
    output logic [31:0]                     reg_rdata,

    output logic [FUNCTIONS-1:0][47:0]      mac,
    output logic [FUNCTIONS-1:0]            link_up,
    input  logic                            host_busy,   // frames are on their way in the functions
    input  logic [FUNCTIONS-1:0][client_cache_pkg::FUNCTION_STATUSES-1:0][31:0] function_status,

    input  logic [FUNCTIONS-1:0]            s_valid,     // from the functions
    output logic [FUNCTIONS-1:0]            s_ready,
    input  logic [FUNCTIONS-1:0][511:0]     s_data,
    input  logic [FUNCTIONS-1:0]            s_last,
    input  logic [FUNCTIONS-1:0][net_pkg::META_BITS-1:0] s_meta,

    output logic [FUNCTIONS-1:0]            m_valid,     // to the functions
    input  logic [FUNCTIONS-1:0]            m_ready,
    output logic [FUNCTIONS-1:0][511:0]     m_data,
    output logic [FUNCTIONS-1:0]            m_last,
    output logic [FUNCTIONS-1:0][net_pkg::META_BITS-1:0] m_meta,

    input  logic                            rx_valid,    // from the network
    output logic                            rx_ready,
    input  logic [511:0]                    rx_data,
    input  logic                            rx_last,
    input  logic [15:0]                     rx_meta_length,

    output logic                            tx_valid,    // to the network
    input  logic                            tx_ready,
    output logic [511:0]                    tx_data,
    output logic                            tx_last,
    output logic [15:0]                     tx_meta_length
);
  always_ff @(posedge clk) mutant_pkg::ID <= mutant;

  client_cache_core #(
      .FUNCTIONS(FUNCTIONS),
      .CONTROLLERS(CONTROLLERS),
      .INDEX_BITS(INDEX_BITS),
      .KEY_BYTES(KEY_BYTES),
      .VALUE_BYTES(VALUE_BYTES),
      .MISS_ENTRIES(MISS_ENTRIES),
      .PRESCALE(PRESCALE)
  ) core (
      .*
  );
endmodule
