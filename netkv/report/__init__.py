"""Presentation of results: tables for the terminal, figures for files and the browser."""
