#include "../types.p4"
#define OWN_INGRESS
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    apply {
        switch (m.flag) { true: { m.m = 1; } default: { } }
        switch (s.parser_error) { error.NoError: { m.m = 1; } default: { } }
    }
}
#include "../pipeline.p4"
