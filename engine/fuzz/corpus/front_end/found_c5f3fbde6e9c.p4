 #defin X X define
 