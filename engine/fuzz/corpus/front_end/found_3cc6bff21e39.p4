#define F(a, b) a ## b
#define X F tuple<bit<8>> (1, 2)
#if defined(X) && X
const int x = X;
#else
#error no
#end default_action if
