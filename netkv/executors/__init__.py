"""Where units of work are executed: in processes of this machine, or by the workers of a cluster.

A unit is a function of a module and its argument. `executor.Executor` is what all places have in
common, in the shape of `concurrent.futures`; `places.opened` finds the one that `--on` names.
"""
