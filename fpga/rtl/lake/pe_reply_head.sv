// The first 96 bytes of the reply to a GET: headers up to the flags, without checksums.
// Combinational. Bytes behind the head (70 or 78 of them) are 0.
module pe_reply_head (
    input  logic [511:0]           request,     // the first 64 bytes of the request's frame
    input  logic                   udp_header,  // with memcached's frame header
    input  lake_pkg::operation_t   operation,
    input  lake_pkg::chunk_header_t item,
    input  logic [7:0]             key_length,
    output logic [767:0]           head,
    output logic [15:0]            frame_length,
    output logic [15:0]            body_start    // offset in the item of the first byte behind the head
);
  logic [15:0] head_length;
  logic [15:0] echoed;  // bytes of the key in the reply
  logic [15:0] udp_length;
  logic [15:0] ip_length;
  logic [15:0] body_length;
  logic [223:0] memcached;

  assign head_length  = udp_header ? 16'd78 : 16'd70;
  assign echoed       = operation.echoes_key ? 16'(key_length) : 16'd0;
  assign frame_length = head_length + echoed + item.value_length;
  assign ip_length    = frame_length - 16'd14;
  assign udp_length   = frame_length - 16'd34;
  assign body_length  = 16'd4 + echoed + item.value_length;
  assign body_start   = operation.echoes_key ? 16'd0 : 16'(key_length);

  // Byte 0 is the lowest of each vector, so the parts stand in reverse.
  assign memcached = {
    item.flags, item.cas, operation.opaque,
    body_length[7:0], body_length[15:8], 16'h0000,  // length of the body
    16'h0000,                                        // status
    8'h00, 8'h04,                                    // data type, length of the extras
    echoed[7:0], echoed[15:8],
    operation.opcode, 8'h81
  };

  always_comb begin
    head = '0;
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
      head[336+:16] = request[336+:16];  // request id
      head[368+:16] = 16'h0100;          // one datagram in all
      head[400+:224] = memcached;
    end else begin
      head[336+:224] = memcached;
    end
  end

  logic unused;
  assign unused = &{1'b0, request[511:352], request[127:96], request[335:304], request[207:112],
                    item.value_sum, item.store_id, item.epoch, item.stored_time, operation};
endmodule
