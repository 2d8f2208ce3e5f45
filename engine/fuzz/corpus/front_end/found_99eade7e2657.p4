#define F(a, bX X
 ble else
# transi) a #npacket_lengthe X X X
 ble nlse
# transi