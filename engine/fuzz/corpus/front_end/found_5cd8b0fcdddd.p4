#define onst int x = X;
#else
#error no
#endif
 X F1,
#if defined(X) &&(X
const iFa,  ++ a ## b
#defineined(X) && X
const int x = X;
#else
#error no
#endif
 X F1,
#if defined(X) && X
const int x = X;
#else
#error no
#endif
