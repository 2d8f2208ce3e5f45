#define F(a, hAlgorithm.crc32214748364_custom, 8 .. w3, { s.inst483649);
        m.m2 = if

#error @  no
#en