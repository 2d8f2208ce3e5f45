// Modes of the data path, as software writes them to registers.
package netfpga_pkg;
  typedef enum logic {
    FORWARD_NIC,    // network ports <-> host port
    FORWARD_SWITCH  // any port <-> any port
  } forwarding_t;

  typedef enum logic [1:0] {
    CACHE_OFF,      // every frame takes the normal path
    CACHE_ON,
    CACHE_ADAPTIVE  // on while the rate of queries is high
  } cache_mode_t;
endpackage
