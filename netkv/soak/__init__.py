"""Search for bugs: random racks, loads and faults in virtual time, with checked histories.

`case_generator` turns a seed into a `case.Case`, `run` plays it, `campaign` plays many on all
cores, `reduce` makes a case with a violation small, `replay` shows it event by event.
docs/use/soak.md has the details.
"""
