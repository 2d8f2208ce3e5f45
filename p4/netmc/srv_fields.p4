/* SRV(i) for each of the NETMC_SERVERS fields. The file that includes this one defines SRV(i)
 * before. It is included several times. */
SRV(1)
#if NETMC_SERVERS >= 2
SRV(2)
#endif
#if NETMC_SERVERS >= 3
SRV(3)
#endif
#if NETMC_SERVERS >= 4
SRV(4)
#endif
#if NETMC_SERVERS >= 5
SRV(5)
#endif
#if NETMC_SERVERS >= 6
SRV(6)
#endif
#if NETMC_SERVERS >= 7
SRV(7)
#endif
#if NETMC_SERVERS >= 8
SRV(8)
#endif
#if NETMC_SERVERS >= 9
SRV(9)
#endif
#if NETMC_SERVERS >= 10
SRV(10)
#endif
#if NETMC_SERVERS >= 11
SRV(11)
#endif
#if NETMC_SERVERS >= 12
SRV(12)
#endif
#if NETMC_SERVERS >= 13
SRV(13)
#endif
#if NETMC_SERVERS >= 14
SRV(14)
#endif
#if NETMC_SERVERS >= 15
SRV(15)
#endif
#if NETMC_SERVERS >= 16
SRV(16)
#endif
#if NETMC_SERVERS >= 17
SRV(17)
#endif
#if NETMC_SERVERS >= 18
SRV(18)
#endif
#if NETMC_SERVERS >= 19
SRV(19)
#endif
#if NETMC_SERVERS >= 20
SRV(20)
#endif
#if NETMC_SERVERS >= 21
SRV(21)
#endif
#if NETMC_SERVERS >= 22
SRV(22)
#endif
#if NETMC_SERVERS >= 23
SRV(23)
#endif
#if NETMC_SERVERS >= 24
SRV(24)
#endif
#if NETMC_SERVERS >= 25
SRV(25)
#endif
#if NETMC_SERVERS >= 26
SRV(26)
#endif
#if NETMC_SERVERS >= 27
SRV(27)
#endif
#if NETMC_SERVERS >= 28
SRV(28)
#endif
#if NETMC_SERVERS >= 29
SRV(29)
#endif
#if NETMC_SERVERS >= 30
SRV(30)
#endif
#if NETMC_SERVERS >= 31
SRV(31)
#endif
#if NETMC_SERVERS >= 32
SRV(32)
#endif
