#define Fa,  ++ a ## b

#else
#error no
#endif
 X F1,
#i = X;
#else
#error no
#andif
f defined(X) && X
const int x = X;
#else
#error no
#andif
