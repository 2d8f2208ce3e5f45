// The number of the mutant in a bench: the argument `+mutant=n` of the simulation; 0: none.
package mutant_pkg;
  function automatic int argument();
    if (!$value$plusargs("mutant=%d", argument)) argument = 0;
  endfunction

  int ID = argument();
endpackage
