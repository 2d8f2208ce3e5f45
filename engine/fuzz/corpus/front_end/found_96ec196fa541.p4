#define F(a, b)  ++ a ## b
#defineif
 X F1(X) && X
const int x = X;
#else
#error no
#andif
