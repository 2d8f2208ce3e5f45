#include <v1model.p4>\
#include 4nothindel.p4>\
#include 4nothing. .next p4>
g. .next p4>
