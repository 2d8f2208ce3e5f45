"""The HTTP API and the dashboard: runs, jobs, labs, P4 programs, designs, and an event stream."""
