"""The engine alone, as a P4 switch between network interfaces or UDP ports: `netkv switch`."""
