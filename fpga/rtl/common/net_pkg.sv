// What every stream of frames shares: the data beside a word, numbers of protocols, and arithmetic
// of IP checksums.
package net_pkg;
  localparam int META_BITS = 32;  // of meta_t

  // What travels beside each word of a frame, unchanged from its first word to its last.
  typedef struct packed {
    logic [15:0] length;       // bytes of the frame, without FCS
    logic [7:0]  source;       // one bit for each port: where the frame arrived
    logic [7:0]  destination;  // one bit for each port: where it goes; 0 until the lookup
  } meta_t;

  localparam logic [15:0] TYPE_IPV4 = 16'h0800;  // of Ethernet
  localparam logic [15:0] TYPE_IPV6 = 16'h86dd;
  localparam logic [15:0] TYPE_VLAN = 16'h8100;
  localparam logic [15:0] TYPE_SERVICE_VLAN = 16'h88a8;
  localparam logic [7:0] PROTOCOL_TCP = 8'd6;
  localparam logic [7:0] PROTOCOL_UDP = 8'd17;

  // The value of two bytes as they are on the wire.
  function automatic logic [15:0] big_endian(input logic [15:0] bytes);
    big_endian = {bytes[7:0], bytes[15:8]};
  endfunction

  function automatic logic is_vlan(input logic [15:0] ethertype);
    is_vlan = ethertype == TYPE_VLAN || ethertype == TYPE_SERVICE_VLAN;
  endfunction

  // The sum of two 16-bit words with the carry added, as in IP checksums.
  function automatic logic [15:0] add(input logic [15:0] left, input logic [15:0] right);
    logic [16:0] both;
    both = {1'b0, left} + {1'b0, right};
    add  = both[15:0] + {15'd0, both[16]};
  endfunction

  // The sum of bytes that begin at an odd offset, from their sum at an even one.
  function automatic logic [15:0] swapped(input logic odd, input logic [15:0] value);
    swapped = odd ? {value[7:0], value[15:8]} : value;
  endfunction
endpackage
