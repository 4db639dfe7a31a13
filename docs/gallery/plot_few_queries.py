"""
Choosing on few validation queries
==================================

Whoever tries many settings and keeps the one with the best figure on the validation queries keeps some luck as well.
We try 24 settings, choose among them on more and more validation queries, and see two things: how much better the
winner looks than it is, and how much worse it is than the best of the 24.
"""

# %%
# Twenty-four rankers
# -------------------
#
# Three linear methods with eight penalties each learn from sixty queries. A pool of 800 queries is there to choose by,
# and 1,000 more to know the truth.

import matplotlib.pyplot as plt
import numpy as np

import podium

queries = podium.make_queries(n_queries=1860, n_documents=12, n_features=20, noise=1.0, random_state=0)
train, pool, test = (queries.take(range(*part)) for part in ((0, 60), (60, 860), (860, 1860)))
metrics = ["ndcg@1", "ndcg@10", "map"]

chosen_by = {metric: [] for metric in metrics}  # on each query of the pool
truth = {metric: [] for metric in metrics}
for method in (podium.ListNet, podium.RankNet, podium.Regression):
    for l2 in np.logspace(-4, 2, 8):
        ranker = method(l2=l2).fit(train)
        on_pool = podium.evaluate(pool, ranker.predict(pool), metrics=metrics)
        on_test = podium.evaluate(test, ranker.predict(test), metrics=metrics)
        for metric in metrics:
            chosen_by[metric].append(on_pool.per_query[metric])
            truth[metric].append(on_test.mean[metric])
for metric in metrics:
    print(f"{metric:8} (standard) on the test queries: {min(truth[metric]):.3f} to {max(truth[metric]):.3f}")

# %%
# A thousand choices of each size
# -------------------------------
#
# For every number of validation queries we draw that many from the pool, choose, and look the truth up. *Optimism* is
# the winner's figure on the queries that chose it minus its figure on all 800. *Regret* is the NDCG@10 on the test
# queries that another choice would have had.

numbers = [5, 10, 20, 40, 80, 160, 320]
rng = np.random.default_rng(0)
optimism = {metric: [] for metric in metrics}
regret = {metric: [] for metric in metrics}
for metric in metrics:
    values, goal = np.array(chosen_by[metric]), np.array(truth["ndcg@10"])
    for n in numbers:
        drawn = np.argsort(rng.random((1000, values.shape[1])), axis=1)[:, :n]
        means = values[:, drawn].mean(axis=2)  # settings × choices
        winner = means.argmax(axis=0)
        optimism[metric].append(np.mean(means.max(axis=0) - values.mean(axis=1)[winner]))
        regret[metric].append(np.mean(goal.max() - goal[winner]))

figure, panels = plt.subplots(1, 2, figsize=(9, 4))
for metric, color in zip(metrics, ("C1", "C0", "C2"), strict=True):
    panels[0].plot(numbers, optimism[metric], "o-", color=color, label=f"chosen by {metric}")
    panels[1].plot(numbers, regret[metric], "o-", color=color)
panels[0].set(title="How much better the winner looks", ylabel="optimism, in the metric that chose")
panels[1].set(title="What the choice costs", ylabel="regret, in NDCG@10")
for ax in panels:
    ax.set(xscale="log", xlabel="validation queries", xticks=numbers, xticklabels=numbers, ylim=(0, None))
    ax.minorticks_off()
panels[0].legend()
plt.show()

for metric in metrics:
    few, many = optimism[metric][1], optimism[metric][-1]
    print(f"{metric:8} optimism with 10 queries {few:.3f}, with 320 {many:.3f}; regret with 40 {regret[metric][3]:.4f}")

# %%
# On ten queries the winner by NDCG@1 looks better than it is by about as much as the best and the worst setting differ.
# Metrics that look further down the list, MAP and NDCG@10, are fooled less, and on forty queries a choice by them costs
# far less. This is why comparisons choose by MAP where it is among the metrics, and why a figure that chose a setting
# must not be reported as its quality.
