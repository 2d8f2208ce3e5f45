#define F(a, b) a ## b
#define X F(1, 2)
#if defined(X) && X
const int x = X;
#else
#error no
#endif
