// Joins hash cache and data cache to one DRAM port.
//
// Paper: section V, "a single DRAM module which utilizes both hash table region and a data store
// region". The address of a region's line is added to the region's base. The upper bit of the DRAM's
// tag is 1 for the data region. Requests of one cache stay in order.
// Throughput: one request a cycle, round robin. Latency: one cycle to the DRAM, none back.
module dram_arbiter #(
    parameter int HASH_BASE = 0,
    parameter int DATA_BASE = 1 << 16,
    parameter int TAG_BITS = 3
) (
    input  logic                           clk,
    input  logic                           rst,

    input  logic                           hash_valid,
    output logic                           hash_ready,
    input  lake_pkg::line_request_t        hash_request,
    input  logic [TAG_BITS-1:0]            hash_tag,
    output logic                           hash_response_valid,

    input  logic                           data_valid,
    output logic                           data_ready,
    input  lake_pkg::line_request_t        data_request,
    input  logic [TAG_BITS-1:0]            data_tag,
    output logic                           data_response_valid,

    output logic [lake_pkg::LINE_BITS-1:0] response,      // of both regions
    output logic [TAG_BITS-1:0]            response_tag,

    output logic                           dram_valid,
    input  logic                           dram_ready,
    output lake_pkg::line_request_t        dram_request,
    output logic [TAG_BITS:0]              dram_tag,
    input  logic                           dram_response_valid,
    input  logic [lake_pkg::LINE_BITS-1:0] dram_response,
    input  logic [TAG_BITS:0]              dram_response_tag
);
  logic [1:0] grant;
  logic       load;

  assign load = !dram_valid || dram_ready;
  assign hash_ready = load && grant[0];
  assign data_ready = load && grant[1];

  assign response = dram_response;
  assign response_tag = dram_response_tag[TAG_BITS-1:0];
  assign hash_response_valid = dram_response_valid && !dram_response_tag[TAG_BITS];
  assign data_response_valid = dram_response_valid && dram_response_tag[TAG_BITS];

  round_robin_arbiter #(
      .REQUESTS(2)
  ) arbiter (
      .clk,
      .rst,
      .request({data_valid, hash_valid}),
      .accept(load),
      .grant
  );

  always_ff @(posedge clk) begin
    if (load && grant != '0) begin
      dram_request <= grant[1] ? data_request : hash_request;
      dram_request.address <= grant[1]
          ? data_request.address + lake_pkg::ADDRESS_BITS'(DATA_BASE)
          : hash_request.address + lake_pkg::ADDRESS_BITS'(HASH_BASE);
      dram_tag <= grant[1] ? {1'b1, data_tag} : {1'b0, hash_tag};
    end
    if (rst) begin
      dram_valid <= 1'b0;
    end else if (load) begin
      dram_valid <= hash_valid || data_valid;
    end
  end
endmodule
