#include <v1model.p4
#incl5de <nothing.p4>
