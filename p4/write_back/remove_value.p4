/* Removes the value from a frame. */

control RemoveValue(inout headers_t hdr) {
    apply {
        hdr.kv.length = 0;
        hdr.value[0].setInvalid();
        hdr.value[1].setInvalid();
        hdr.value[2].setInvalid();
        hdr.value[3].setInvalid();
        hdr.value[4].setInvalid();
        hdr.value[5].setInvalid();
        hdr.value[6].setInvalid();
        hdr.value[7].setInvalid();
    }
}
