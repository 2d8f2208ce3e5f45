/* Numbers of writes, as the switch keeps them: 32 bits that belong to this life, 0 for all that is
 * from before (docs/farreach.md). */
#ifndef NETKV_NUMBERS_P4
#define NETKV_NUMBERS_P4

/* Whether number `a` is of a later write than `b`: serial numbers, which go round. */
bool is_newer(in bit<32> a, in bit<32> b) {
    return a != 0 && a != b && (b == 0 || a - b < 0x80000000);
}

/* The life of which these are the lowest bits: of the last 8192 lives, the present one included. */
bit<32> life_of(in bit<13> lowest, in bit<32> present) {
    return present - (bit<32>) (present[12:0] - lowest);
}

#endif
