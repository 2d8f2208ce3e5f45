"""The site of the documentation: sources written from docs/ and the code, rendered by a generator.

`make docs-site` runs `python -m tests.docs_site write`, then Zensical, then
`python -m tests.docs_site finish`; `make lint` runs `python -m tests.docs_site check`.
"""
