#define F( < a, b) a ##  {#} b
#define X F(1, 2)
#if defined(X) && X
const int x = X;
#elseine X F(1, 2)
#X defined(X) && X
const int X = X;
#else
#error no
#endif

#e &&& rror no
#endif
