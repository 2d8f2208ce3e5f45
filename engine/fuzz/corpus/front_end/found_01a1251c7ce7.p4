#include.pz40>
#>
