"""
From ratings to recommendations
===============================

Nobody tells the ranker what a film is about: it sees only who gave how many stars. We invent thirty films of three
kinds and viewers with tastes, learn two factors per film from their stars, and look at the map that comes out. Then a
newcomer rates some films and is shown a page of others, with the reasons.
"""

# %%
# Films and viewers
# -----------------
#
# Each viewer likes one kind of film best and one least. Everybody agrees somewhat on which films are good.

import matplotlib.pyplot as plt
import numpy as np

import podium

KINDS = {
    "sea": "Salt and Rope,The Ninth Wave,Harbor Lights,A Keel of Ash,Low Tide,The Pilot's Daughter,Fathom,Gray Sails,"
    "Lantern Cove,The Drowned Bell",
    "space": "Orbit of Glass,The Last Antenna,Red Gravity,Nine Minutes of Air,Perihelion,The Quiet Probe,Comet Season,"
    "Dust of Callisto,Hull Number Four,Slow Light",
    "kitchen": "The Pepper Year,Butter and Smoke,Table for Eleven,A Pinch of Doubt,The Soup Inspector,Burnt Sugar,"
    "Knives Down,Sunday Dough,The Salted Plum,Second Helping",
}
titles = np.array([title for films in KINDS.values() for title in films.split(",")])
kind = np.repeat(np.arange(3), 10)


def stars(random_state=0, n_viewers=400, n_each=18):
    """Return ratings of one to five stars."""
    rng = np.random.default_rng(random_state)
    quality = 0.4 * rng.standard_normal(30)
    taste = np.array([rng.permutation([1.4, 0.2, -1.0]) for _ in range(n_viewers)])
    viewer = np.repeat(np.arange(n_viewers), n_each)
    film = np.concatenate([rng.permutation(30)[:n_each] for _ in range(n_viewers)])
    liking = taste[viewer, kind[film]] + quality[film] + 0.7 * rng.standard_normal(len(film))
    return podium.Ratings(viewer, titles[film], 1 + np.digitize(liking, [-1.2, -0.4, 0.4, 1.2]))


ratings = stars()
train, test = podium.given_n(ratings, 12, min_test=5, random_state=0)
print(ratings)

# %%
# A map of films
# --------------
#
# PMOP's loss takes equal stars as ties. With two factors, films can be drawn as they are; whom a viewer is shown
# depends on the direction in which the viewer's own factors point.

ranker = podium.FactorRanker(loss=podium.losses.PMOPLoss(), n_factors=2, random_state=0).fit(train)
for name, other in {"PMOP, two factors": ranker, "mean stars of a film": podium.ItemMean().fit(train)}.items():
    quality = podium.evaluate_ratings(other, test, metrics=["ndcg@5"]).mean["ndcg@5"]
    print(f"{name:22} NDCG@5 (standard) on the other films: {quality:.3f}")

known = {"Perihelion": 5, "Fathom": 4, "Red Gravity": 4, "Harbor Lights": 3, "Burnt Sugar": 2, "Knives Down": 1}
newcomer = ranker.fold_in(items=list(known), values=list(known.values()))
recommended = ranker.recommend(newcomer, n=5).items.tolist()
print("for a newcomer who likes Perihelion:", ", ".join(recommended))

factors = ranker.model_.item_factors
place = dict(zip(ranker.item_ids_.tolist(), factors, strict=True))
figure, ax = plt.subplots(figsize=(8, 5))
for color, (name, films) in zip(("C0", "C3", "C2"), KINDS.items(), strict=True):
    own = np.array([place[title] for title in films.split(",")])
    ax.scatter(*own.T, color=color, s=40, label=name)
found = np.array([place[title] for title in recommended])
ax.scatter(*found.T, s=130, facecolors="none", edgecolors="C1", linewidths=1.5, label="recommended")
direction = newcomer.factors / np.linalg.norm(newcomer.factors)
ax.annotate("", 1.8 * direction, (0, 0), arrowprops={"arrowstyle": "-|>", "color": "C1", "linewidth": 2})
ax.plot([], [], color="C1", label="the newcomer's taste")
ax.set(xlabel="first factor", ylabel="second factor", aspect="equal")
ax.set_title("Thirty films, by stars alone")
ax.legend(loc="upper left", bbox_to_anchor=(1.02, 1))
plt.show()

# %%
# The three kinds are three heaps on the map, although nobody named them: viewers who like one film of a kind like the
# others. Six ratings are enough to turn the newcomer's taste toward space with a little sea, and on films that viewers
# had not rated yet two factors rank better than the mean of everybody's stars.

# %%
# A page with reasons
# -------------------
#
# Why these films? :meth:`podium.FactorRanker.explain` leaves out each of the newcomer's ratings in turn, folds the
# newcomer in again and tells what that changes: a bar to the right is a rating that speaks for the film.

color_of = dict(zip(titles.tolist(), np.repeat(["C0", "C3", "C2"], 10), strict=True))
best = ranker.recommend(newcomer, n=4)
reasons = [ranker.explain(newcomer, title).reasons for title in best.items]
widest = max(abs(reason.contribution) for row in reasons for reason in row)

figure, axes = plt.subplots(4, 1, figsize=(8, 9), sharex=True, layout="constrained")
for place, (ax, title, row) in enumerate(zip(axes, best.items, reasons, strict=True), 1):
    names = [f"{reason.item}  {'★' * int(reason.rating):☆<5}" for reason in row]
    values = [reason.contribution for reason in row]
    ax.barh(names, values, color=[color_of[reason.item] for reason in row], height=0.7)
    ax.axvline(0, color="0.5", linewidth=0.8)
    ax.invert_yaxis()
    ax.set_xlim(-1.1 * widest, 1.1 * widest)
    ax.set_title(f"{place}. {title}", loc="left", color=color_of[title], fontweight="bold")
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
axes[-1].set_xlabel("what each rating adds to the film's score")
handles = [plt.Rectangle((0, 0), 1, 1, color=color) for color in ("C0", "C3", "C2")]
figure.legend(handles, KINDS, loc="outside upper right", ncols=3, frameon=False)
figure.suptitle("Recommended, because of …", x=0.01, ha="left")
plt.show()

print(ranker.explain(newcomer, best.items[0]))
print("films most similar to it:", ", ".join(ranker.similar_items(best.items[0], n=3).items))

# %%
# Five stars for one film of space carry most films of space; four for one of the sea speak against them. The film of
# the sea among the four is there in spite of the five stars: low stars for kitchens and fair ones for the sea speak for
# it. A page that says so can be argued with, which is what a list of scores cannot.
