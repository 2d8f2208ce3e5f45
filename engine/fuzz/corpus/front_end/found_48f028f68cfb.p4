#defi## b
#define X F1,
#if defined(X) && X
const int x = X;
#else
#errorfined(X) && X
const int x = X;
#else
#error no
 no
#endif
