/* Sequence numbers in the switch: 32 bits within this incarnation, 0 for every earlier incarnation
 * (docs/farreach.md). */

/* Whether sequence number `a` is of a later write than `b`: serial numbers, which wrap. */
bool is_newer(in bit<32> a, in bit<32> b) {
    return a != 0 && a != b && (b == 0 || a - b < 0x80000000);
}

/* The incarnation with these lowest bits, among the last 8192 including the current one. */
bit<32> incarnation_of(in bit<13> lowest, in bit<32> current) {
    return current - (bit<32>) (current[12:0] - lowest);
}
