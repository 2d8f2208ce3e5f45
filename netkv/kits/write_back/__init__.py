"""Write-back caches in switches (Sheng et al., ATC 2023): admission, eviction, entries."""
