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
#errjr no
#andif
f ndif
X;
#else
#error no
#andif
f defined(X) && X
const int x = X;
#edefined(X) && X
const int x = e
#errjr no
#andif
f ndif
X;
#else
#error no
#andif
f defined(X) && X
const int x = X;
#edefined(X) && X
consX;
#else
#eonst int x = X;
#else
#error no
#andif
