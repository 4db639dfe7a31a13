"""Rank items for users by their ratings: a group of commands.

Collaborative filtering: every user is a query, and the items that the user has not rated are ranked.

examples:
  podium ratings compare u.data --protocol given-n --n 10,20,50

See podium ratings COMMAND --help for the options of a command.
"""

from podium.cli.ratings import compare

COMMANDS = (compare,)
