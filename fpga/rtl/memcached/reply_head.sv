// The first 96 bytes of the reply to a request: headers up to the extras, without checksums.
// Combinational. Without `enable` the head is 0, and a simulation skips the work. It is 66 bytes
// long without extras and frame header; what follows it is 0.
module reply_head (
    input  logic         enable,
    input  logic [511:0] request,       // the first 64 bytes of the request's frame
    input  logic         udp_header,    // with memcached's frame header (8 bytes)
    input  logic [7:0]   opcode,
    input  logic [15:0]  status,
    input  logic [31:0]  opaque,        // opaque, cas, flags: bytes in the order of the wire
    input  logic [63:0]  cas,
    input  logic         with_flags,    // four bytes of extras
    input  logic [31:0]  flags,
    input  logic [7:0]   key_bytes,     // of the key in the reply
    input  logic [15:0]  value_bytes,
    output logic [767:0] head,
    output logic [15:0]  head_length,
    output logic [15:0]  frame_length
);
  logic [15:0]  udp_length;
  logic [15:0]  ip_length;
  logic [15:0]  body_length;
  logic [223:0] memcached;     // byte 0 is the lowest, so the parts stand in reverse

  assign head_length  = 16'd66 + (udp_header ? 16'd8 : 16'd0) + (with_flags ? 16'd4 : 16'd0);
  assign frame_length = head_length + 16'(key_bytes) + value_bytes;
  assign ip_length    = frame_length - 16'd14;
  assign udp_length   = frame_length - 16'd34;
  assign body_length  = (with_flags ? 16'd4 : 16'd0) + 16'(key_bytes) + value_bytes;

  always_comb begin
    head      = '0;
    memcached = '0;
    if (enable) begin
      memcached = {
        with_flags ? flags : 32'd0,
        cas,
        opaque,
        {body_length[7:0], body_length[15:8], 16'h0000},
        {status[7:0], status[15:8]},
        {8'h00, with_flags ? 8'h04 : 8'h00},  // data type, length of the extras
        {key_bytes, 8'h00},
        {opcode, 8'h81}
      };
      head[0+:48]    = request[48+:48];  // destination and source change places
      head[48+:48]   = request[0+:48];
      head[96+:16]   = 16'h0008;         // IPv4
      head[112+:16]  = 16'h0045;         // version, header length, service
      head[128+:16]  = {ip_length[7:0], ip_length[15:8]};
      head[160+:16]  = 16'h0040;         // do not fragment
      head[176+:16]  = 16'h1140;         // time to live 64, UDP
      head[208+:32]  = request[240+:32];
      head[240+:32]  = request[208+:32];
      head[272+:16]  = request[288+:16];
      head[288+:16]  = request[272+:16];
      head[304+:16]  = {udp_length[7:0], udp_length[15:8]};
      if (udp_header) begin
        head[336+:16]  = request[336+:16];  // request id
        head[368+:16]  = 16'h0100;          // one datagram in all
        head[400+:224] = memcached;
      end else begin
        head[336+:224] = memcached;
      end
    end
  end

  logic unused;
  assign unused = &{1'b0, request[511:352], request[207:96], request[335:304]};
endmodule
