#include <v1model.p4>\
#include 4nothing.p4>
