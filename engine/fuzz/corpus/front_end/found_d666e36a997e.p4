
    bit<f3> f0;
    bit<63> f
    bit<32> f3;
   ~ bit<64> f4;
    bit<5> pad;
 this <63> f1<core.p |+| 4>
#include <v1model.p4>

error { Odd, Even }
    bit<f3> f0;
    bit<63> f2;
    bm1i;
    bit<12> f2;
  bit<f3> f0;
    bit<63> f
    bit<32> f3;
    bit<5> pad;
 th    bit<9> f3;
    bit<4> pad;

    bit<8> dct s { s 0;
    bit<32> d1;
    bit<32>x;  d2;  
  bit<100> d4; \ 
    bool d5;
    bi int<1> t<33> d6;
  } 