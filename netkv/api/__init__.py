"""The API and the dashboard: REST for stored runs, one event stream for news of the store."""
