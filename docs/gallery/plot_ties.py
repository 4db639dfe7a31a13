"""
What a tie is worth
===================

Judges give grades, and many documents get the same one. A model of *orders*, such as ListMLE's, has no place for that:
somebody must put the tied documents in an order first, and the model then learns it. A model of *ordered partitions*,
such as PMOP's, takes a tie for what it is. We look at what this does to the loss of one list, and then to a ranker
that learns from a file whose rows happen to be sorted by price.
"""

# %%
# One list, twelve losses
# -----------------------
#
# Six documents have the grades 2, 2, 1, 0, 0, 0. There are 2! · 1! · 3! = 12 orders of the rows that put better grades
# first. All of them say the same about the documents. We ask both losses what they make of each.

from itertools import permutations, product

import matplotlib.pyplot as plt
import numpy as np

import podium

grades = np.array([2, 2, 1, 0, 0, 0])
scores = np.array([1.2, 0.1, 0.9, 0.3, -0.4, -1.5])
orders = [(*best, 2, *rest) for best, rest in product(permutations([0, 1]), permutations([3, 4, 5]))]

losses = {"ListMLE": podium.losses.ListMLELoss(ties="stable"), "PMOP": podium.losses.PMOPLoss(potential="geometric")}
values = {
    name: [loss.value_and_gradient(scores[list(rows)], grades[list(rows)], [0, 6]).value for rows in orders]
    for name, loss in losses.items()
}
for name, found in values.items():
    print(f"{name:8} from {min(found):.3f} to {max(found):.3f}")

figure, ax = plt.subplots(figsize=(8, 3.4))
for (name, found), style in zip(values.items(), ("C1o", "C0s"), strict=True):
    ax.plot(range(1, 13), found, style, markersize=8, label=name)
ax.set_xticks(range(1, 13), ["".join("ABCDEF"[d] for d in rows) for rows in orders], rotation=45)
ax.set(xlabel="order of the rows; A and B are tied, and so are D, E and F", ylabel="loss", ylim=(0, 8.5))
ax.set_title("The same judgments, written in twelve ways")
ax.legend(loc="lower right", ncols=2)
plt.show()

# %%
# A file that is sorted by price
# ------------------------------
#
# Now we train. Grades depend on how well a product matches the query and on its rating, and on nothing else. But
# somebody wrote the file best grade first and, among equal grades, cheapest first, as the rows came from a shop's
# database.


def sorted_lists(random_state, n_queries=60, n_documents=20):
    """Return lists with three grades, their rows sorted by grade and then by price."""
    rng = np.random.default_rng(random_state)
    shape = (n_queries, n_documents)
    match, rating, price = (rng.standard_normal(shape) for _ in range(3))
    liked = match + 0.5 * rating + 0.7 * rng.standard_normal(shape)
    grades = np.digitize(liked, [0.3, 1.3])
    rows = np.lexsort((price, -grades))
    columns = [np.take_along_axis(column, rows, axis=1).ravel() for column in (match, rating, price, grades)]
    names = ["match", "rating", "price"]
    return podium.Queries(
        np.column_stack(columns[:3]), columns[3], sizes=[n_documents] * n_queries, feature_names=names
    )


train, test = sorted_lists(0), sorted_lists(1, n_queries=500)
rankers = {
    "ListMLE, ties in the order of rows": podium.ListMLE(ties="stable"),
    "ListMLE, ties in random orders": podium.ListMLE(ties="random", random_state=0),
    "PMOP": podium.PMOP("geometric"),
}
weights = {}
for name, ranker in rankers.items():
    learned = ranker.fit(train).coef_
    weights[name] = learned / np.abs(learned).sum()
    quality = podium.evaluate(test, ranker.predict(test), metrics=["ndcg@10"]).mean["ndcg@10"]
    print(f"{name:36} weight of price {weights[name][2]:+.3f}, NDCG@10 (standard) {quality:.4f}")

# %%
# The weights, as shares of their sum:

figure, ax = plt.subplots(figsize=(8, 3.2))
for i, (name, shares) in enumerate(weights.items()):
    ax.barh(np.arange(3) + 0.26 * (i - 1), shares, height=0.24, label=name, color=("C1", "C5", "C0")[i])
ax.axvline(0, color="C5", linewidth=1)
ax.set_yticks(range(3), train.feature_names)
ax.invert_yaxis()
ax.grid(axis="y", visible=False)
ax.set(xlabel="share of the weights")
ax.set_title("Who believes that cheap is relevant?")
ax.legend(loc="lower right")
plt.show()

# %%
# ListMLE's loss depends on how the rows were written, PMOP's does not. Trained on the sorted file, ListMLE with ties in
# the order of rows takes the order for a judgment and pays for it in NDCG on the test lists. Shuffling ties, which is
# Podium's default for ListMLE, repairs this. PMOP has nothing to repair: to it a tie is one more fact about the list.
