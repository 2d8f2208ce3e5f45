// Selects one deliberate defect of a design, for tests of its tests. Hardware has none: ID is 0.
//
// `fpga/mutants` has a package of this name whose ID is a variable; the simulated design
// `lake_mutants` is built with it. An expression `mutant_pkg::ID == n` is the place of mutant n.
package mutant_pkg;
  localparam int ID = 0;
endpackage
