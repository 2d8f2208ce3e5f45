/* Drops the requests that the mode of the switch does not let pass. Clients repeat them. While a
 * chain is held, only its tail takes part in what passes; the other switches route it. */

control Mode(inout metadata_t meta) {
    apply {
        if (meta.role == ROLE_READ || meta.role == ROLE_WRITE) {
            if (meta.mode == MODE_CLOSED || (meta.mode == MODE_HOLD && meta.cached)) {
                meta.drop_reason = DROP_CLOSED;
            }
#ifndef TAIL
            else if (meta.mode == MODE_HOLD) {
                meta.role = ROLE_NONE;
            }
#endif
        }
    }
}
