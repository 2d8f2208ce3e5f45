"""The API and the dashboard: REST for stored runs, an event stream for new samples and events."""
