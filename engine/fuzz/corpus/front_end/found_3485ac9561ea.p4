#define Fa, a ## b
#define X F1,
#if ine Fa, a ## b
#define X F1,
#if :  definedXror