"""
LambdaMART's trees, explained
=============================

A hundred trees rank well and cannot be read. But what they *do* can be drawn: how much each feature adds to the score
of each document, and why one document is above another. We train LambdaMART on the search results of an invented shop,
where we know what judges look at, and check whether its trees found it.
"""

# %%
# What each feature adds
# ----------------------
#
# ``contributions`` returns SHAP values, one per document and feature: what the feature adds to the score in the
# company of the others, against the average document. Judges of this shop want the right thing in the right color and
# material, and among right things what sells and is in stock. Price, discount, age and the length of a title mean
# nothing to them.

import matplotlib.pyplot as plt
import numpy as np

import podium

results = podium.make_search_results(n_queries=150, n_documents=15, random_state=0)
train, test = podium.train_test_split(results, 0.3, random_state=0)
ranker = podium.LambdaMART(n_trees=100, n_leaves=8, learning_rate=0.1, random_state=0).fit(train)
print(f"NDCG@10 (standard) on {len(test)} test queries: {ranker.score(test):.3f}")

added = ranker.contributions(test)[:, : test.n_features]
strength = np.abs(added).mean(axis=0)
for name in ("title_bm25", "in_stock", "price", "age_days", "title_length", "discount"):
    print(f"{name:12} adds or takes {strength[test.feature_names.index(name)]:.2f} on average")
order = np.argsort(-strength)[:10]
rng = np.random.default_rng(0)

figure, ax = plt.subplots(figsize=(8, 4.8))
for row, feature in enumerate(order):
    values = test.features[:, feature]
    _, level = np.unique(values, return_inverse=True)  # counts have long tails: color by order
    heights = row + 0.32 * rng.uniform(-1, 1, len(values))
    dots = ax.scatter(
        added[:, feature], heights, c=level / level.max(), cmap="coolwarm", s=7, vmin=0, vmax=1, linewidths=0
    )
ax.axvline(0, color="C5", linewidth=1)
ax.set_yticks(range(len(order)), [test.feature_names[feature] for feature in order])
ax.invert_yaxis()
ax.grid(axis="y", visible=False)
ax.set(xlabel="added to the score")
ax.set_title("One dot per document: the ten features that matter most")
bar = figure.colorbar(dots, ax=ax, ticks=[0, 1], shrink=0.8, label="value of the feature")
bar.ax.set_yticklabels(["low", "high"])
plt.show()

# %%
# Why is this above that?
# -----------------------
#
# A ranking is made of differences. ``explain`` divides the difference of two scores among the features; without
# documents named, it takes the first and the second of a query's ranking.

query = "green oak bookcase"
why = ranker.explain(test, query=query)
print(why.title)

top = why.contributions[:6]
rest = sum(c.contribution for c in why.contributions[6:])
names = [f"{c.name}\n{c.values[0]:.3g} against {c.values[1]:.3g}" for c in top] + ["all others"]
sizes = np.array([c.contribution for c in top] + [rest])
ends = np.cumsum(sizes)

figure, ax = plt.subplots(figsize=(8, 4.4))
ax.barh(range(len(sizes)), sizes, left=ends - sizes, color=np.where(sizes > 0, "C0", "C1"), height=0.6)
ax.barh(len(sizes), ends[-1], color="C5", height=0.6)
for row, end in enumerate(ends):
    ax.plot([end, end], [row, row + 1], color="C5", linewidth=1)
ax.axvline(0, color="C5", linewidth=1)
ax.set_yticks(range(len(sizes) + 1), [*names, "difference"])
ax.invert_yaxis()
ax.grid(axis="y", visible=False)
ax.margins(x=0.05)
ax.set(xlabel="difference of the scores")
ax.set_title(f"“{query}”: why is the first above the second?")
plt.show()

# %%
# The trees found what the judges look at: matches of words and the stock come first, and what judges ignore is far
# behind, though not at zero, since a hundred queries leave room for chance. And they weigh one thing against
# another: the bookcase at the top matches fewer words of the query than the one below it, and sells better.
