#define Fa,  ++ a ## b

#else

#else
#error no
#andif
X;
#else
#error no
#andif
f defined(X) && X
celse
#error no
#andif
X;
#else
#error no
#andif
f defined(X) && X
const int x = X;
#else
#eonst int x = X;
#else
#error no
#andif
