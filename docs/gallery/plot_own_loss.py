"""
Your own loss in ten lines
==========================

A loss is a function of one list: scores and labels in, value and gradient out. Here we write one for a particular
worry, judges who grade some lists carelessly, give it to Podium's rankers, and see whether it does what it was
written for.
"""

# %%
# The loss
# --------
#
# Draw the first document at random with probabilities in proportion to exp(score): the loss is the share of the best
# gain that is missed on average. It is never above 1, so a list that contradicts all others costs little and is given
# up, where a likelihood would go on pulling. ``numba.njit`` makes it as fast as Podium's own losses.

import matplotlib.pyplot as plt
import numba
import numpy as np

import podium


@numba.njit
def missed_gain(scores, labels):
    gains = 2.0**labels - 1.0
    if gains.max() > 0:
        gains /= gains.max()
    p = np.exp(scores - scores.max())
    p /= p.sum()
    hit = (p * gains).sum()
    return 1.0 - hit, -p * (gains - hit)


own = podium.losses.FunctionLoss(missed_gain)

# %%
# Drawn beside ListNet's and RankNet's, for a list of three in which the score of the best document moves:

losses = {"own": own, "ListNet": podium.losses.ListNetLoss(), "RankNet": podium.losses.RankNetLoss()}
colors = {"own": "C1", "ListNet": "C0", "RankNet": "C2"}
scores = np.linspace(-8, 8, 81)
figure, ax = plt.subplots(figsize=(8, 3.6))
for name, loss in losses.items():
    values = [loss.value_and_gradient([s, 0.0, -0.5], [2, 0, 1], [0, 3]).value for s in scores]
    ax.plot(scores, values, color=colors[name], label=name)
ax.set(xlabel="score of the best document; the others have 0 and −0.5", ylabel="loss", ylim=(0, 6))
ax.set_title("How much a list that is all wrong may cost")
ax.legend()
plt.show()

# %%
# Careless judges
# ---------------
#
# Good judges grade by the first two of five features. Careless ones grade by the last and are put off by the first.
# The more lists they grade, the worse for the ranker. Test lists have good judges only. Thin lines are ten data sets,
# thick ones their mean.


def judged(random_state, careless, n_queries, n_documents=12):
    """Return lists, a share of which have careless judges."""
    rng = np.random.default_rng(random_state)
    X = rng.standard_normal((n_queries, n_documents, 5))
    liked = (X[:, :, 0] + 0.7 * X[:, :, 1] + 0.5 * rng.standard_normal((n_queries, n_documents))) / 1.3
    misled = (3 * X[:, :, 4] - 2 * X[:, :, 0]) / 3.6
    by = np.where(rng.random((n_queries, 1)) < careless, misled, liked)
    grades = np.digitize(by, [0.5, 1.2])
    return podium.Queries(X.reshape(-1, 5), grades.ravel(), sizes=[n_documents] * n_queries)


shares = [0.0, 0.1, 0.2, 0.3]
found = {name: np.empty((len(shares), 10)) for name in losses}
for i, share in enumerate(shares):
    for seed in range(10):
        train, test = judged(seed, share, 200), judged(100 + seed, 0.0, 300)
        for name, loss in losses.items():
            ranker = podium.Ranker(loss, podium.scorers.Linear(l2=1e-4)).fit(train)
            found[name][i, seed] = ranker.score(test)

figure, ax = plt.subplots(figsize=(8, 4))
for name, values in found.items():
    ax.plot(shares, values.mean(axis=1), "o-", color=colors[name], label=name)
    ax.plot(shares, values, color=colors[name], linewidth=0.7, alpha=0.5)
    print(f"{name:8} NDCG@10 (standard): {values[0].mean():.3f} all good, {values[-1].mean():.3f} with 30 % careless")
ax.set(xlabel="share of the training lists with careless judges", ylabel="NDCG@10 on good lists", xticks=shares)
ax.set_title("What careless judges cost")
ax.legend(loc="lower left")
plt.show()

best = np.argmax([values[-1] for values in found.values()], axis=0)
print(f"with 30 %, the own loss is the best of the three on {np.mean(best == 0):.0%} of the data sets")

# %%
# Where all judges are good, ten lines are as good as the losses that have names. Where some are careless they lose
# least, because a bounded loss can give a list up. The same object trains trees or networks:
# ``podium.Ranker(own, podium.scorers.Trees())``.
