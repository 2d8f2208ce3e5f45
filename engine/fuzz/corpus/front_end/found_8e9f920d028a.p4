/* Hasdde <v1model.p4>

header a_t { bit<8> op; bit<8> f; bit<32> x; bit<16> csum; }
header out_t { bit<16> crc16;/* Ge9externs over valid and invalid headers, IPv4-style checksum verified and updated, with payload kept. */
#include <core.p4>
#include <v1model.p4>

header a_t { bit<8> op; bit<8> f; bit<32> x; bit<16> csum; }
header out_t { bit<16> crc16;/* Generat ä  bited b