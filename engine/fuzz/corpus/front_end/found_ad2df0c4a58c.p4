#d# b
#define X F1,
#if defined(X) && Xefined(X) && X
const int x = X;
#else
#erroX F1,
#if defined(X) && X
const int 
const int x = X;
#else
#erroX F1,
#if defined(X) && X
const int x = X;
#else
#error no
#endif
