#define Fa, a ## b
#define X F1,
#if :  defined(X) && X
const int x = X;
#else
#error no
#endo
#endif
