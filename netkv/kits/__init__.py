"""What several schemes share; each kit is named after what it does."""
