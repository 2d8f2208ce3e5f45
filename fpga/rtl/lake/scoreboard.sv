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

  logic [PES-1:0] asks;       // a declaration that is not granted yet
  logic [PES-1:0] takes;      // in its first cycle
  logic [PES-1:0] unblocked;
  logic [PES-1:0] ends;

  assign asks  = active & declare_valid & ~granted;
  assign takes = asks & ~declared;
  assign ends  = finish | dispatch;

  always_ff @(posedge clk) begin
    active     <= rst ? '0 : (active & ~finish) | dispatch;
    declared   <= rst ? '0 : (declared | asks) & ~ends;
    granted    <= rst ? '0 : (granted | (asks & unblocked)) & ~ends;
    covers_all <= (covers_all & ~takes) | (declare_all & takes);
    reads      <= (reads & ~takes) | (declare_read & takes);
  end

  // One block for each PE: Verilator updates a packed array in place when it is written in a loop.
  for (genvar pe = 0; pe < PES; pe++) begin : gen_pe
    logic [PES-1:0] conflicts;  // the PEs that the declaration waits for

    always_comb begin
      conflicts = '0;
      if (asks[pe]) begin
        for (int other = 0; other < PES; other++) begin
          conflicts[other] = earlier[pe][other] && !finish[other]
              && (declare_all[pe] || !declared[other] || covers_all[other]
                  || (bucket[other] == declare_bucket[pe]
                      && !(declare_read[pe] && reads[other])));
        end
      end
    end
    assign unblocked[pe] = conflicts == '0;

    always_ff @(posedge clk) begin
      if (takes[pe]) bucket[pe] <= declare_bucket[pe];
      if (rst) earlier[pe] <= '0;
      else if (dispatch[pe]) earlier[pe] <= active & ~finish & ~(PES'(1) << pe);
      else earlier[pe] <= earlier[pe] & ~finish;
    end
  end
endmodule
