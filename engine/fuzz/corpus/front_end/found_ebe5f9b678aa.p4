#define Fa, a ## b
#define X F1,
#if definedX;
#else
#errorfined(X)