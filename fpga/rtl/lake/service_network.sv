// The memory network of one shared service: many processing elements (PEs), one service.
//
// Paper: section II-C, "a shared memory network". A PE holds its request until `pe_ready`; requests
// of one PE stay in order. Round robin over PEs. A PE has at most one request with a response
// outstanding, and takes the response in the cycle in which it comes.
// Throughput: one request and one response a cycle. Latency: one cycle in each direction.
module service_network #(
    parameter int PES = 5,
    parameter int REQUEST_BITS = 8,
    parameter int RESPONSE_BITS = 8,
    localparam int TAG_BITS = PES > 1 ? $clog2(PES) : 1,
    localparam int STRIDE = (REQUEST_BITS + 31) / 32 * 32  // see lake_pkg
) (
    input  logic                             clk,
    input  logic                             rst,

    input  logic [PES-1:0]                   pe_valid,
    output logic [PES-1:0]                   pe_ready,
    input  logic [PES-1:0][STRIDE-1:0]       pe_request,
    output logic [PES-1:0]                   pe_response_valid,
    output logic [RESPONSE_BITS-1:0]         pe_response,

    output logic                             valid,
    input  logic                             ready,
    output logic [REQUEST_BITS-1:0]          request,
    output logic [TAG_BITS-1:0]              tag,         // the PE
    input  logic                             response_valid,
    input  logic [RESPONSE_BITS-1:0]         response,
    input  logic [TAG_BITS-1:0]              response_tag
);
  logic [PES-1:0] grant;
  logic           load;

  assign load     = !valid || ready;
  assign pe_ready = load ? grant : '0;

  round_robin_arbiter #(
      .REQUESTS(PES)
  ) arbiter (
      .clk,
      .rst,
      .request(pe_valid),
      .accept(load),
      .grant
  );

  always_ff @(posedge clk) begin
    if (load) begin
      for (int pe = 0; pe < PES; pe++) begin
        if (grant[pe]) begin
          request <= pe_request[pe][REQUEST_BITS-1:0];
          tag     <= TAG_BITS'(pe);
        end
      end
    end
    if (response_valid) begin
      pe_response <= response;
    end
    pe_response_valid <= !rst && response_valid ? PES'(1) << response_tag : '0;
    if (rst) begin
      valid <= 1'b0;
    end else if (load) begin
      valid <= pe_valid != '0;
    end
  end

  logic unused;
  assign unused = &{1'b0, pe_request};
endmodule
