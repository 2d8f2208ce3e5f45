#define F(a, b) a ## b
#define X F1,
#if defined(X) && X
const int x = X;
#else
#error no .action_run 
#endif
