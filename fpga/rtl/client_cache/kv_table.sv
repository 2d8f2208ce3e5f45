// The table of a controller: direct-mapped, one key and value in an entry (paper, section III-B).
// Head and key of an entry are read together; a value is read and written by lines of 64 bytes.
// Throughput: one read and one write a cycle. Latency: one cycle. After reset the entries become
// invalid, one in a cycle.
module kv_table #(
    parameter int INDEX_BITS = 16,
    parameter int KEY_BYTES = 64,
    parameter int VALUE_BYTES = 512,
    localparam int LINES = (VALUE_BYTES + 63) / 64,
    localparam int LINE_BITS = LINES > 1 ? $clog2(LINES) : 1
) (
    input  logic                    clk,
    input  logic                    rst,
    output logic                    initialized,

    input  logic [INDEX_BITS-1:0]   index,

    input  logic                    read,         // head and key
    output client_cache_pkg::head_t head,         // from the next cycle on, as `key`
    output logic [8*KEY_BYTES-1:0]  key,
    input  logic                    head_write,
    input  logic                    key_write,
    input  client_cache_pkg::head_t head_data,
    input  logic [8*KEY_BYTES-1:0]  key_data,

    input  logic                    value_read,
    input  logic [LINE_BITS-1:0]    read_line,
    output logic [511:0]            value,        // from the next cycle on
    input  logic                    value_write,
    input  logic [LINE_BITS-1:0]    write_line,
    input  logic [511:0]            value_data
);
  localparam int VALUE_ADDRESS_BITS = $clog2(LINES << INDEX_BITS);

  logic [INDEX_BITS-1:0] walk;

  // Lines of one number lie together, so that LINES need not be a power of two.
  function automatic logic [VALUE_ADDRESS_BITS-1:0] line_address(input logic [LINE_BITS-1:0] line,
                                                                 input logic [INDEX_BITS-1:0] at);
    line_address = VALUE_ADDRESS_BITS'({line, at});
  endfunction

  ram_sdp #(
      .WIDTH($bits(head)),
      .DEPTH(1 << INDEX_BITS)
  ) heads (
      .clk,
      .write_enable (head_write || !initialized),
      .write_address(initialized ? index : walk),
      .write_data   (initialized ? head_data : '0),
      .read_enable  (read),
      .read_address (index),
      .read_data    (head)
  );

  ram_sdp #(
      .WIDTH(8 * KEY_BYTES),
      .DEPTH(1 << INDEX_BITS)
  ) keys (
      .clk,
      .write_enable (key_write),
      .write_address(index),
      .write_data   (key_data),
      .read_enable  (read),
      .read_address (index),
      .read_data    (key)
  );

  ram_sdp #(
      .WIDTH(512),
      .DEPTH(LINES << INDEX_BITS)
  ) values (
      .clk,
      .write_enable (value_write),
      .write_address(line_address(write_line, index)),
      .write_data   (value_data),
      .read_enable  (value_read),
      .read_address (line_address(read_line, index)),
      .read_data    (value)
  );

  always_ff @(posedge clk) begin
    if (rst) begin
      initialized <= 1'b0;
      walk        <= '0;
    end else if (!initialized) begin
      initialized <= walk == '1;
      walk        <= walk + 1'b1;
    end
  end
endmodule
