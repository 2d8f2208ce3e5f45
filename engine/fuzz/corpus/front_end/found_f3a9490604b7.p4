#define F( < a, b) a ##  {#} b
#define X else(X, 2)
#if defined(X) *&& X
const int x = X;
#elseine X F1,
#X defined(X) && X
const int X = X;
#else
#error no
#endif

#e &&& rror no