"""
Are pair probabilities right?
=============================

Some rankers say how likely one document is better than another. Of all pairs for which a ranker says 80 %, the first
document should be the better one in four of five. We let three rankers predict pairs of test lists and draw what they
said against what happened, and then mend the one that is off with a single number.
"""

# %%
# What was said, what happened
# ----------------------------
#
# Pairs with the same grade are left out; for the others we need P(above, given not tied). PairTies is trained on pairs
# and knows ties. ListMLE and ListNet are Plackett-Luce models of whole lists; ListNet's labels enter as exp(grade), so
# how sure it is depends on how grades happen to be numbered.

from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np

import podium

queries = podium.make_queries(n_queries=500, n_documents=8, n_features=6, noise=0.7, vary_sizes=False, random_state=0)
train, valid, test = (queries.take(range(*part)) for part in ((0, 200), (200, 300), (300, 500)))
rankers = {
    "PairTies (Davidson)": podium.PairTies(model="davidson", l2=0.001),
    "ListMLE": podium.ListMLE(l2=0.001, random_state=0),
    "ListNet": podium.ListNet(l2=0.001),
}
pairs = list(combinations(range(8), 2))


def said_and_happened(ranker, lists):
    """Return P(first above second, given not tied) of all pairs with different grades, and which of them are so."""
    said, happened = [], []
    for answer, labels in zip(ranker.probabilities(lists), np.split(lists.labels, lists.offsets[1:-1]), strict=True):
        for i, j in pairs:
            if labels[i] != labels[j]:
                above, below = answer.above(i, j), answer.above(j, i)
                said.append(above / (above + below))
                happened.append(labels[i] > labels[j])
    return np.array(said), np.array(happened)


def log_score(said, happened):
    """Return the mean of −log P(what happened)."""
    return -np.mean(np.log(np.where(happened, said, 1 - said)))


found = {name: said_and_happened(ranker.fit(train), test) for name, ranker in rankers.items()}
print(f"log score of a coin: {np.log(2):.3f}")
for name, (said, happened) in found.items():
    print(f"{name:20} log score {log_score(said, happened):.3f} on {len(said)} pairs")

# %%
# Reliability
# -----------
#
# Pairs are put into ten bins of equally many, by what was said. On the diagonal, what was said is what happened.


def draw(ax, said, happened, **style):
    """Draw the share that happened over the mean of what was said."""
    bins = np.array_split(np.argsort(said), 10)
    ax.plot([said[b].mean() for b in bins], [happened[b].mean() for b in bins], "o-", **style)


def panel(ax, title):
    ax.plot([0, 1], [0, 1], color="C5", linewidth=1, zorder=1)
    ax.set(title=title, xlabel="said: P(first above second)", aspect="equal")


figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.6), sharey=True)
panel(left, "As they come")
for (name, (said, happened)), color in zip(found.items(), ("C0", "C2", "C1"), strict=True):
    draw(left, said, happened, color=color, label=name)
left.set_ylabel("happened: share of pairs")
left.legend()

# One number mends it: multiply log-odds by a factor, chosen on the validation lists.
said, happened = said_and_happened(rankers["ListNet"], valid)
factors = np.linspace(0.2, 5, 97)


def sharpen(said, factor):
    return 1 / (1 + ((1 - said) / said) ** factor)


best = min(factors, key=lambda factor: log_score(sharpen(said, factor), happened))
said, happened = found["ListNet"]
panel(right, f"ListNet, its scores times {best:.2f}")
draw(right, said, happened, color="C1", alpha=0.35, label="before")
draw(right, sharpen(said, best), happened, color="C1", label="after")
right.legend()
plt.show()
print(
    f"ListNet: log score {log_score(said, happened):.3f} before, {log_score(sharpen(said, best), happened):.3f} after"
)

# %%
# PairTies, which is trained on pairs, means what it says. Both list models are too modest: where they say 70 %, nearly
# all pairs are in that order, since random orders of ties (ListMLE) and soft labels (ListNet) draw scores together. The
# order of ListNet's scores was good all along: one factor from the validation lists brings its log score to that of
# PairTies.
