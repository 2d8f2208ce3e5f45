# .isVa""""""$"""ne Fa, a ## b

#else
#errorfined(X)""""""""""""""""""""""""""""""