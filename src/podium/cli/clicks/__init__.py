"""Estimate, judge and plan by what people clicked: a group of commands.

examples:
  podium clicks bias log.parquet -o bias.json
  podium clicks evaluate log.parquet new.podium --against old.podium --bias bias.json
  podium clicks ask new.podium log.parquet --against old.podium --bias bias.json -n 100 -o pairs.csv
  podium clicks plan 0.02 --power 0.9                  (sessions that an interleaving test needs)
  podium clicks interleaving interleaved.parquet       (which of two interleaved rankings won)

See podium clicks COMMAND --help for the options of a command.
"""

from podium.cli.clicks import ask, bias, evaluate, interleaving, plan

COMMANDS = (bias, evaluate, ask, plan, interleaving)
