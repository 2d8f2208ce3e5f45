#define F(a, b) a ## b
#define X F tuple<bit<8>> 1,
#if def @name("x") ined(X) && X
con return st retur_action if
