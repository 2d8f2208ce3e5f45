// What the answer of the guard table allows (docs/schemes/lake.md, "Rules of freshness").
// Combinational. Without `enable` all outputs are 0, and a simulation skips the work.
module freshness_rules (
    input  logic                                   enable,
    input  logic                                   of_get,        // the request is a GET
    input  logic                                   fills,         // setting: replies to GETs are stored
    input  logic                                   safe_writes,   // setting
    input  logic                                   quiet,         // no unseen mutation can be on its way
    input  logic                                   status_ok,     // of a reply
    input  logic [memcached_pkg::VERSION_BITS-1:0] version,       // of the key, when the request passed
    input  memcached_pkg::guard_response_t         guard,
    output logic                                   alone,
    output logic                                   admits_get,
    output logic                                   fill_allowed,
    output logic                                   set_visible
);
  logic same_version;

  always_comb begin
    same_version = 1'b0;
    alone        = 1'b0;
    admits_get   = 1'b0;
    fill_allowed = 1'b0;
    set_visible  = 1'b0;
    if (enable) begin
      same_version = guard.version == version;
      // No mutation of the key was on its way when the request passed, so the server gets those that
      // passed before in front of it, and has answered them.
      alone        = !safe_writes || (of_get ? guard.inflight == 8'd0 : guard.inflight == 8'd1);
      // Whether a GET may have an entry in the miss table, so that its reply may fill: not while an
      // unseen mutation may be on its way. The server may get that behind this GET, and the reply
      // may come when the quiet time is over.
      admits_get   = alone && quiet;
      fill_allowed = fills && quiet && !guard.uncacheable && same_version;
      set_visible  = status_ok && quiet && same_version;
    end
  end
endmodule
