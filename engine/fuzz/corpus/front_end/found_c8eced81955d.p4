#define ;
# table f
ulserror no
#eltandi 
