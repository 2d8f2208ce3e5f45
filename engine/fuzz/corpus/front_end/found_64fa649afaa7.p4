#define Fa, a ## b
#define X F1,
#i table f endifd(X) && X
const int x = X;
#no
#endif
