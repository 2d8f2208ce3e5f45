/* Whether a request is for keys of this switch's chain. The controller enters the servers of the
 * chain. A request of another chain is only routed: it takes another way because a switch is
 * down. */

control Chain(inout headers_t hdr, inout metadata_t meta) {
    action of_this_chain() { }

    action of_another_chain() {
        meta.role = ROLE_NONE;
    }

    table servers {
        key = { hdr.ipv4.dst: exact @name("address"); }
        actions = { of_this_chain; of_another_chain; }
        const default_action = of_another_chain();
        size = 1024;
    }

    apply {
        servers.apply();
    }
}
