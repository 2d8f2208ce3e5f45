"""Results for people: tables for the terminal, figures for the browser."""
