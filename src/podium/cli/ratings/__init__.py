"""Rank items for users by their ratings: a group of commands.

Collaborative filtering: every user is a query, and the items that the user has not rated are ranked.

examples:
  podium ratings compare u.data --protocol given-n --n 10,20,50
  podium ratings train u.data --method pmop-factors -o model.podium
  podium ratings recommend model.podium --users all -n 10 -o recs.csv
  podium ratings evaluate model.podium test.csv
  podium ratings export model.podium -o factors

See podium ratings COMMAND --help for the options of a command.
"""

from podium.cli.ratings import compare, evaluate, export, recommend, train

COMMANDS = (compare, train, recommend, evaluate, export)
