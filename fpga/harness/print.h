// Included before all generated code: what a design prints goes to stderr, and into the text of a
// failure. Standard output belongs to the host.
#pragma once

extern "C" int netkv_fpga_print(const char* format, ...) __attribute__((format(printf, 1, 2)));

#define VL_PRINTF netkv_fpga_print
