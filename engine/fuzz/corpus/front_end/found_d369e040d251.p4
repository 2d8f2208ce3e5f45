 #if 1
 Br en