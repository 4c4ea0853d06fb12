"""The cost model and the simulators: pure functions over numpy arrays, usable without the page."""
