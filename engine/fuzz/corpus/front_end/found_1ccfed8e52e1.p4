 #de : d
 #de : d`X,  #de : d
 #de : d`X, 