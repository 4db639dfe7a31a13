"""Estimate, plan and judge by what people clicked: a group of commands.

examples:
  podium clicks bias log.parquet -o bias.json
  podium clicks plan 0.02 --power 0.9
  podium clicks interleaving log.parquet

See podium clicks COMMAND --help for the options of a command.
"""

from podium.cli.clicks import bias, interleaving, plan

COMMANDS = (bias, plan, interleaving)
