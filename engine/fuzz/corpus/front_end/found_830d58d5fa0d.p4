#define  X
 #define X X X
 #if 1
  const int x = X;
# table  varbit<64> f
else
#erro