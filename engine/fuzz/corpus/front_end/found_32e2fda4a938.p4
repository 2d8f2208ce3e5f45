#deeFnf i(a, b) #define X X X
  a ## b
#define X F tuple<bit<8>> (1, 2#define Fa, a ## b
#define X F tuple<bit<8>> (1, 2)
#if dle<bit<8>> 2#define
#if def @name("x") ined(X) && X
const int x = X;
#else
#error no
#end default_action if
