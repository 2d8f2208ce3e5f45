 #de : d
 #de : d`