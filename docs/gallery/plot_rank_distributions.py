"""
How sure is a ranking?
======================

A ranking shows one order, and hides how close it was. Rankers that are probability models can say more: of each
document, how likely it is to be first, second, and so on. We train two of them on search results of an invented shop
and draw these probabilities for one query, one row per product.
"""

# %%
# Judged search results
# ---------------------
#
# Queries are words, documents are products with titles, and grades go from 0 (irrelevant) to 3 (perfect). ListMLE is a
# model of orders, PMOP one of ordered partitions, in which products may share a rank.

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import PowerNorm

import podium

results = podium.make_search_results(n_queries=200, n_documents=8, random_state=0)
rankers = {
    "ListMLE: orders": podium.ListMLE(l2=0.01, random_state=0),
    "PMOP: orders with ties": podium.PMOP("geometric", l2=0.01),
}
for ranker in rankers.values():
    ranker.fit(results.take(range(1, len(results))))

shown = results.take([0])  # was not trained on
query = str(shown.qids[0])
print(f"{query}: {shown.n_documents} products, grades {np.sort(shown.labels.astype(int))[::-1].tolist()}")

# %%
# All ranks of all products
# -------------------------
#
# Row d of ``rank_distribution`` has the probabilities of document d's ranks. Products are in the order of ListMLE's
# scores; the number after a title is the grade that a judge gave.

order = np.argsort(-rankers["ListMLE: orders"].predict(shown))
titles = [f"{str(shown.document_ids[d]).partition(',')[0]}  ·  {int(shown.labels[d])}" for d in order]
places = np.arange(1, shown.n_documents + 1)

answers = {name: ranker.probabilities(shown) for name, ranker in rankers.items()}
figure, panels = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True)
for ax, (name, answer) in zip(panels, answers.items(), strict=True):
    image = ax.imshow(answer.rank_distribution[order], aspect="auto", norm=PowerNorm(0.6, 0, 1))
    ax.set(title=name, xlabel="rank")
    ax.set_xticks(places - 1, places)
    ax.set_yticks(places - 1, titles)
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
figure.colorbar(image, ax=panels, label="probability", shrink=0.8)
figure.suptitle(f"Results for “{query}”", x=0.02, ha="left")
plt.show()

# %%
# What to do with it
# ------------------
#
# The same object answers questions that a score cannot: is the first product really better than the second? What NDCG
# may we expect of the orders that the model thinks possible?

first, second, last = order[0], order[1], order[-1]
for name, answer in answers.items():
    expected = answer.expected("ndcg@5", shown.labels)
    print(name)
    print(f"  P(first above second) {answer.above(first, second):.2f}, P(tied) {answer.tied(first, second):.2f}")
    print(f"  P(first above last)   {answer.above(first, last):.2f}, P(tied) {answer.tied(first, last):.2f}")
    print(f"  NDCG@5 (standard) over the model's rankings: {expected.mean:.3f} ± {expected.deviation:.3f}")

# %%
# Both models know what belongs at the end of this list, and neither knows which lantern is best: ListMLE spreads each
# of them over six ranks, as if somebody could tell. PMOP can say that nobody can: the first two are tied with
# probability 0.40, and most of the probability of its first rows is in a first rank that several share.
