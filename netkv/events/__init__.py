"""Events of scenarios: what is done to a rack while it runs, and when.

- `action`: what every action has
- `actions`: the actions, one file for each or for a few that belong together
- `catalogue`: the list of them, found in that folder
- `event`: an action with its time, as a line of a scenario
- `state`: what is out of order at a point of a timeline, for its validation
- `random_faults`: events that are drawn from a seed
- `case`: faults with beginning and end, in a case of `netkv soak`

To add an event, add a file to `actions`. Scenarios, their reference and form, the API, random
faults and the search for bugs take everything from the class in it.
"""
