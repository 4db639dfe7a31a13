"""
How conventions move NDCG
=========================

“NDCG@10” is not one number. Tools disagree on the gain of a grade, on the discount, on lists that are shorter than ten
documents, on queries with nothing to find, and on documents with equal scores. We give the *same* scores to ten
conventions, and see how far apart their answers are.
"""

# %%
# Two rankers
# -----------
#
# Lists have 6 to 18 documents, of which few are relevant. Twenty small trees give many documents the same score, a
# linear ranker gives none.

import matplotlib.pyplot as plt
import numpy as np

import podium

made = podium.make_queries(n_queries=600, n_documents=12, n_features=10, n_grades=4, noise=1.0, random_state=0)
queries = podium.Queries(made.features, np.maximum(made.labels - 1, 0), sizes=np.diff(made.offsets))
train, test = podium.train_test_split(queries, 0.5, random_state=0)
rankers = {
    "linear (ListNet)": podium.ListNet(l2=0.1).fit(train),
    "twenty trees (LambdaMART)": podium.LambdaMART(n_trees=20, n_leaves=4, random_state=0).fit(train),
}
scores = {name: ranker.predict(test) for name, ranker in rankers.items()}

by_query = np.split(test.labels, test.offsets[1:-1])
print(f"{np.mean([labels.max() == 0 for labels in by_query]):.0%} of the queries have nothing relevant")
print(f"{np.mean([len(labels) < 10 for labels in by_query]):.0%} have fewer than ten documents")

# %%
# One ranking, five curves
# ------------------------
#
# NDCG@k of the trees, for every k:

cutoffs = range(1, 16)
figure, ax = plt.subplots()
shown = {"catboost": ("C4", 7), "lightgbm": ("C3", -4), "trec": ("C2", 4), "standard": ("C0", -6), "letor": ("C1", 0)}
for convention, (color, up) in shown.items():
    metrics = [podium.metric(f"ndcg@{k}", convention) for k in cutoffs]
    means = list(podium.evaluate(test, scores["twenty trees (LambdaMART)"], metrics=metrics).mean.values())
    ax.plot(cutoffs, means, "o-", color=color, markersize=4)
    ax.annotate(convention, (15, means[-1]), (8, up), textcoords="offset points", va="center", color=color)
ax.set(xlabel="cutoff k", ylabel="mean NDCG@k", xlim=(0.5, 17.5), ylim=(0, 1), xticks=range(1, 16, 2))
ax.set_title("The same scores under five conventions")
plt.show()

# %%
# Conventions against methods
# ---------------------------
#
# All ten, for both rankers:

names = ["letor", "letor4", "mslr", "standard", "yahoo", "sklearn", "trec", "catboost", "lightgbm", "xgboost"]
figure, ax = plt.subplots()
found = {
    ranker: [podium.evaluate(test, s, metrics=["ndcg@10"], convention=name).mean["ndcg@10"] for name in names]
    for ranker, s in scores.items()
}
places = np.arange(len(names))
ax.hlines(places, *found.values(), color="C5")
for (ranker, means), style in zip(found.items(), ("C0o", "C1s"), strict=True):
    ax.plot(means, places, style, markersize=8, label=ranker)
ax.set_yticks(places, names)
ax.invert_yaxis()
ax.set(xlabel="mean NDCG@10")
ax.set_title("Between two rows: the convention. Within a row: the method")
ax.legend(loc="lower left")
plt.show()

differences = np.abs(np.subtract(*found.values()))
print(f"between the two rankers: {differences.min():.3f} to {differences.max():.3f}")
for ranker, means in found.items():
    print(f"between conventions, {ranker}: up to {np.ptp(means):.3f}; without LETOR's three {np.ptp(means[3:]):.3f}")

# %%
# The convention moves NDCG@10 by more than the method does: LETOR's tools count a list that is too short as zero, and
# those of LightGBM, XGBoost and CatBoost count a query with nothing to find as perfect. A figure without its convention
# cannot be compared with another, so Podium never prints one.
