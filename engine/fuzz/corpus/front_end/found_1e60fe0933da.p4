#define
#error no
#andif
X;
#felse
#error no
#andif
X;
#else
#else no
#andif
f define = X;
#else
#error no
# out andif
