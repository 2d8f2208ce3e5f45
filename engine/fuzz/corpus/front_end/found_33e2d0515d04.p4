#deeFnf i(a, b) a ## b
#define X F tuple<bit<8>> (1, 2#define F(a, b) a ## b
#define X F tuple<bit<8>> (1, 2)
#if dle<bit<8>> (1, 2#define F(a, b) a ## b
#define X Fef @name("x") ined(X) && X
const int x = X;
#else
#error no
#end default_action if
)
#if def @name("x") ined(X) && X
const int x = X;
#else
#error no
#end default_action if
