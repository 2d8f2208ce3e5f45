"""Which points of a scenario, and how many seeds, answer a question: samples of ranges, the best
point of an expression, the edge of a condition, an interval that is narrow enough.

Nothing here executes runs. A study says what to execute next, and gets the results.
"""
