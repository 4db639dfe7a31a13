"""
Which loss for which lists?
===========================

A dozen losses, one linear scorer, one family of lists. Labels follow a hidden linear score; we vary how noisy they are,
how many grades there are (few grades mean many ties), and how long the lists are. Everything else stays as it is, so
that only the losses differ. This is a small version of `the study of all losses <../results/losses.html>`_, which
searches penalties and repeats more often.
"""

# %%
# The lists
# ---------
#
# In the middle there are lists of about 20 documents in three grades, with as much noise as signal. Each of the three
# is then moved to both sides. However long the lists are, a loss learns from about 600 documents.

import matplotlib.pyplot as plt
import numpy as np

import podium

middle = {"noise": 1.0, "n_grades": 3, "n_documents": 20}
axes = {"noise": (0.2, 1.0, 4.0), "n_grades": (2, 3, 8), "n_documents": (6, 20, 80)}


def lists(random_state, **changed):
    """Return training and test lists of one kind."""
    kind = {**middle, **changed}
    n_train = 600 // kind["n_documents"]
    made = podium.make_queries(n_train + 150, n_features=12, random_state=random_state, **kind)
    return made.take(np.arange(n_train)), made.take(np.arange(n_train, len(made)))


# %%
# The losses
# ----------
#
# Those that model whole lists, those that model pairs, and one that models nothing but the grades. Any public loss can
# be added to the list.

names = ["ListNet", "Softmax", "XENDCG", "UniqueSoftmax", "ListMLE", "PMOP", "RankCosine"]
names += ["RankNet", "RankSVM", "LambdaRank", "Davidson", "Regression"]
losses = [getattr(podium.losses, f"{name}Loss")() for name in names]


def quality(loss, train, test):
    """Return the NDCG@10 of each test list (convention ``standard``)."""
    ranker = podium.Ranker(loss, podium.scorers.Linear(l2=0.01), random_state=0).fit(train)
    return podium.evaluate(test, ranker.predict(test), metrics=["ndcg@10"]).per_query["ndcg@10"]


found = {}
for axis, values in axes.items():
    for value in values:
        parts = [lists(seed, **{axis: value}) for seed in range(2)]
        found[axis, value] = np.array([np.concatenate([quality(loss, *part) for part in parts]) for loss in losses])

# %%
# Where each wins
# ---------------
#
# A cell is how far a loss is behind the best one of its column, on the same 300 test lists. A dot marks the losses that
# are not significantly behind: the 95 % interval of the paired difference reaches 0.

figure, panels = plt.subplots(1, 3, figsize=(9, 4.6), sharey=True, layout="constrained")
for panel, (axis, values) in zip(panels, axes.items(), strict=True):
    behind = np.empty((len(losses), len(values)))
    for column, value in enumerate(values):
        ndcg = found[axis, value]
        difference = ndcg - ndcg[ndcg.mean(axis=1).argmax()]
        behind[:, column] = difference.mean(axis=1)
        half = 1.96 * difference.std(axis=1) / np.sqrt(difference.shape[1])
        winners = np.flatnonzero(behind[:, column] + half >= 0)
        panel.plot(np.full(len(winners), column), winners, "o", color="black", markersize=4)
    shades = panel.imshow(behind, aspect="auto", cmap="viridis", vmin=-0.06, vmax=0)
    panel.set_xticks(range(len(values)), [f"{value:g}" for value in values])
    panel.set(xlabel={"noise": "noise", "n_grades": "grades", "n_documents": "documents per list"}[axis])
    panel.grid(visible=False)
panels[0].set_yticks(range(len(names)), names)
figure.colorbar(shades, ax=panels, label="NDCG@10 less that of the best", extend="min")
plt.show()

# %%
# On ordinary lists most losses are within a hundredth of the best. They part at the ends. Where labels are mostly
# noise, squared errors on the grades win, which are behind everywhere else. With many grades or long lists it pays to
# model the whole order, as ListMLE does, or all pairs. PMOP's default potential takes a group of ties for as good as
# its average member, which costs most where groups are large and labels clean; ``PMOPLoss("geometric")`` is the
# alternative.
