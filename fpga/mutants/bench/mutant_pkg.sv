// In place of `fpga/rtl/common/mutant_pkg.sv`, for benches: the argument `+mutant=n` of the simulation
// chooses the mutant.
package mutant_pkg;
  function automatic int argument();
    if (!$value$plusargs("mutant=%d", argument)) argument = 0;
  endfunction

  int ID = argument();
endpackage
