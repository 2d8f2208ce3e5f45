"""Write-through caches in switches (Jin et al., SOSP 2017): insertion, eviction, statistics."""
