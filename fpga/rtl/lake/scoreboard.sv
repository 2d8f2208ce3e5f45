// Keeps the processing elements (PEs) in the order of their frames, as far as they touch one bucket.
//
// `dispatch` pulses, one PE a cycle, in the order of the frames. The PE then declares the bucket of
// its frame, or `all` of them, holds the declaration until `granted`, and ends with `finish`, with or
// without a declaration. A PE that finishes may be dispatched in the same cycle.
// A declaration waits for each PE that was dispatched earlier and
//   - has not declared yet, or
//   - has declared `all` or the same bucket, unless both only read it.
// A declaration of `all` waits for every PE that was dispatched earlier.
// Latency: `granted` rises one cycle after a declaration that has nothing to wait for, and one cycle
// after the `finish` or the declaration that it waits for.
module scoreboard #(
    parameter int PES = 5,
    parameter int BUCKET_BITS = 16
) (
    input  logic                            clk,
    input  logic                            rst,
    input  logic [PES-1:0]                  dispatch,
    input  logic [PES-1:0]                  declare_valid,
    input  logic [PES-1:0]                  declare_all,
    input  logic [PES-1:0]                  declare_read,    // the bucket is not changed
    input  logic [PES-1:0][BUCKET_BITS-1:0] declare_bucket,
    output logic [PES-1:0]                  granted,
    input  logic [PES-1:0]                  finish
);
  logic [PES-1:0]                  active;
  logic [PES-1:0]                  declared;
  logic [PES-1:0]                  covers_all;
  logic [PES-1:0]                  reads;
  logic [PES-1:0][BUCKET_BITS-1:0] bucket;
  logic [PES-1:0][PES-1:0]         earlier;  // active PEs that were dispatched before this one

  // One block for each PE: Verilator updates a packed array in place when it is written in a loop.
  for (genvar pe = 0; pe < PES; pe++) begin : gen_pe
    logic           asks;
    logic [PES-1:0] conflicts;  // the PEs that the declaration waits for

    assign asks = active[pe] && declare_valid[pe] && !granted[pe];

    always_comb begin
      conflicts = '0;
      if (asks && mutant_pkg::ID != 1) begin
        for (int other = 0; other < PES; other++) begin
          conflicts[other] = earlier[pe][other] && !finish[other]
              && (declare_all[pe] || !declared[other] || covers_all[other]
                  || (bucket[other] == declare_bucket[pe]
                      && !(declare_read[pe] && reads[other])));
        end
      end
    end

    always_ff @(posedge clk) begin
      earlier[pe] <= earlier[pe] & ~finish;
      if (asks) begin
        declared[pe] <= 1'b1;
        if (!declared[pe]) begin
          covers_all[pe] <= declare_all[pe];
          reads[pe]      <= declare_read[pe];
          bucket[pe]     <= declare_bucket[pe];
        end
        if (conflicts == '0) granted[pe] <= 1'b1;
      end
      if (finish[pe] || dispatch[pe]) begin
        active[pe]   <= dispatch[pe];
        declared[pe] <= 1'b0;
        granted[pe]  <= 1'b0;
      end
      if (dispatch[pe]) begin
        earlier[pe] <= active & ~finish & ~(PES'(1) << pe);
      end
      if (rst) begin
        active[pe]   <= 1'b0;
        declared[pe] <= 1'b0;
        granted[pe]  <= 1'b0;
        earlier[pe]  <= '0;
      end
    end
  end
endmodule
