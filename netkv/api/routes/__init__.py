"""The routes of the API below `/api/v1`, a module for each subject.

Each module has `routes`. They belong to no server: what a server has comes with each request
(`Current`).
"""
