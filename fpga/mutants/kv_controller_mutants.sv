// kv_controller with one safety rule broken, for benches: `mutant` chooses it; 0 is kv_controller as it
// is. netkv/schemes/client_cache/mutants.py lists them.
module kv_controller_mutants #(
    parameter int FUNCTIONS = 1,
    parameter int INDEX_BITS = 16,
    parameter int KEY_BYTES = 64,      // up to 64
    parameter int VALUE_BYTES = 512,   // up to 1,024
    parameter int MISS_ENTRIES = 256
) (
    input  int mutant,
    input  logic                                clk,
    input  logic                                rst,
    output logic                                initialized,  // until then it takes no frame
    output logic                                busy,
    input  logic [31:0]                         skip,
    output logic                                still,

    input  client_cache_pkg::settings_t         settings,
    input  logic [memcached_pkg::NOW_BITS-1:0]  now,
    input  logic [memcached_pkg::TIME_BITS-1:0] passed,         // units that end with this cycle
    input  logic [memcached_pkg::TIME_BITS-1:0] lifetime,
    input  logic                                foreign_write,  // pulse: advance all epochs
    input  logic                                clear_bypass,   // pulse
    input  logic [FUNCTIONS-1:0][client_cache_pkg::FUNCTION_BITS-1:0] groups,  // of the functions
    input  logic [FUNCTIONS-1:0][15:0]          slice_base,     // of the groups
    input  logic [FUNCTIONS-1:0][15:0]          slice_mask,
    input  logic [FUNCTIONS-1:0][8:0]           quota,          // of the functions, in the miss table

    input  logic                                s_valid,
    output logic                                s_ready,
    input  logic [511:0]                        s_data,
    input  logic                                s_last,
    input  net_pkg::meta_t                      s_meta,         // source: the function, one-hot
    input  memcached_pkg::kind_t             s_kind,

    output logic                                m_valid,
    input  logic                                m_ready,
    output logic [511:0]                        m_data,
    output logic                                m_last,
    output net_pkg::meta_t                      m_meta,
    output logic                                m_host,         // to the function, not to the network

    output client_cache_pkg::events_t           events,
    output logic [7:0]                          events_source,  // the function, one-hot
    output logic [FUNCTIONS-1:0][31:0]          epochs,         // of the groups
    output logic [FUNCTIONS-1:0]                quiet,          // no unseen mutation is on its way
    output logic [FUNCTIONS-1:0]                bypass,         // after a delayed flush: no hits
    output logic [8:0]                          miss_live,
    output logic                                miss_full,      // pulses
    output logic                                miss_ambiguous,
    output logic                                miss_expired
);
  always_ff @(posedge clk) mutant_pkg::ID <= mutant;

  kv_controller #(
      .FUNCTIONS(FUNCTIONS),
      .INDEX_BITS(INDEX_BITS),
      .KEY_BYTES(KEY_BYTES),
      .VALUE_BYTES(VALUE_BYTES),
      .MISS_ENTRIES(MISS_ENTRIES)
  ) kv (
      .*
  );
endmodule
