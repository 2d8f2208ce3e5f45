#define  X
const int x = X;
# table f
else
#erro