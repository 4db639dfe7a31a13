"""Boosting of single features: one loop, and the ways of weighting that make it AdaRank, RankBoost or FRank."""
