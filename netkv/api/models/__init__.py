"""Models of requests and responses, a module for each subject."""
