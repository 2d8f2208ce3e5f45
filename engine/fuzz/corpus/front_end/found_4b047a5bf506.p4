#define Fa,  ++ a ## b
##define Fa,  ++ a ## b
#defineif
 X F1(X) && X
const int x=defineif
 X F1(X) && X
const int x= = X;
#else
#error no
#andif
