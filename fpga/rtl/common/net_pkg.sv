// Types that every stream of frames shares.
package net_pkg;
  localparam int META_BITS = 32;  // of meta_t

  // What travels beside each word of a frame, unchanged from its first word to its last.
  typedef struct packed {
    logic [15:0] length;       // bytes of the frame, without FCS
    logic [7:0]  source;       // one bit for each port: where the frame arrived
    logic [7:0]  destination;  // one bit for each port: where it goes; 0 until the lookup
  } meta_t;
endpackage
