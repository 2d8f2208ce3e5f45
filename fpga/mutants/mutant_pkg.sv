// In place of `fpga/rtl/common/mutant_pkg.sv`: the mutant is chosen at run time.
package mutant_pkg;
  int ID;
endpackage
