#define X
constine X
const int x = X;
#else
# enum error  0 no
#endif

#error no
#endi 8w25