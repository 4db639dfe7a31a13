"""The command line.

Learning to rank lists that have ties: compare methods, train, rank, evaluate.

examples:
  podium compare                                   some quick methods on synthetic lists, within a minute
  podium compare OHSUMED --convention letor        the same on a folder of folds, with LETOR's metrics
  podium train train.txt --method pmop -o model.podium --valid vali.txt
  podium rank model.podium test.txt -o scores.txt
  podium evaluate test.txt scores.txt --convention letor
  podium export model.podium --format solr -o model.json --check test.txt
  podium ratings compare u.data --n 10,20,50       rankers of users' ratings, given 10, 20 and 50 per user
  podium ratings train u.data --method pmop-factors -o films.podium
  podium ratings recommend films.podium -o recs.csv

See podium COMMAND --help for the options of a command.
"""
