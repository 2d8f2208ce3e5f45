"""The API and the dashboard: REST for what is stored, one event stream for what happens."""
