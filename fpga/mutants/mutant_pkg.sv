// The number of the mutant, which the top level of a design with mutants sets at run time; 0: none.
package mutant_pkg;
  int ID;
endpackage
