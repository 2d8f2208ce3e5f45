 #def X
 