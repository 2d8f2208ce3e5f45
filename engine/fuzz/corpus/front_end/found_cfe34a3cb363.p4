# .isValid() define Fa, a ## b

#else
#errorfined(X)""""""""""""""""""""""""""""""