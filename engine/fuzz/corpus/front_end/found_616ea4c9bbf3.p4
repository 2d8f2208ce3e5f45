#include <v1model.p4>
#include <nothing.p4>>
#include <nothing.p4>

