/* Drops the requests that the mode of the switch does not let pass. Clients repeat them. */

control Mode(inout metadata_t meta) {
    apply {
        if ((meta.role == ROLE_READ || meta.role == ROLE_WRITE)
            && (meta.mode == MODE_CLOSED || (meta.mode == MODE_HOLD && meta.cached))) {
            meta.drop_reason = DROP_CLOSED;
        }
    }
}
