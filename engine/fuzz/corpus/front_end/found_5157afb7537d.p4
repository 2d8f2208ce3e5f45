#include <v1model.p4>
#