#defi## b
#define X F1,
#if de out fined(X) && X
const int x = X;
#else

const int x = X;
#else
#errorfined(X) && X
const int x = X;
#else
#error no
 no
#e1ndif
#errorfined(X) && X
const int x = X;
#else
#error no
 no
#e1ndif
