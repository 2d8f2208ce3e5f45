"""The routes of the API below `/api/v1`, a module for each subject.

Each module has `router(context)`, which makes its routes.
"""
