"""Search for bugs: random racks, workloads and faults in virtual time, judged by what clients saw.

`plan` turns a seed into a `case.Case`, `run` plays it, `campaign` plays many on all cores, `reduce`
makes a case with a violation small, `replay` shows it event by event. docs/soak.md tells the rest.
"""
