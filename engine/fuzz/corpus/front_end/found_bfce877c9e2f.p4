#define F(a header ,  } b)  ++ a ## b
#defineined(X) && X
const int x = X;
#else
#error no
#endif
 X F1,
#if defined(X) && Xoc
nst int x = X;
#else
#e ; rror no
#andif
