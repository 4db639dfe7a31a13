"""What is collected for testing: everything that can be imported."""

from importlib.util import find_spec

# An optional extra. Any other module that cannot be imported is an error, not a reason to skip its tests.
collect_ignore = [] if find_spec("torch") else ["src/podium/torch.py"]
