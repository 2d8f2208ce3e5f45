#d# b
#define X F1,
#if defined(X) && X
const int x = X;
#else
#erroX F1,
#if defined(X) && X
const int x = X;
#else
#error no
#endif
