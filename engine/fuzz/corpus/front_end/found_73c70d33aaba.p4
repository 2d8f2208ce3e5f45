#define F(a, hAlgorithm.crc32_custom, 8w3, { s.instance_type, m.m1, m.m1 }, 32w2147483649);
        m.m2 = if

#error no
#endif
