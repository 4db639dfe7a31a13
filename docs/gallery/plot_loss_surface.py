"""
A loss surface, and why StructRank's is joint
=============================================

Document A is better than B and better than C. A pairwise loss looks at these preferences one at a time; StructRank's
looks at both together. With two preferences the difference can be drawn: we plot both losses over the two margins,
and then ask which of them is right about the probability that *both* preferences hold.
"""

# %%
# Two margins, two surfaces
# -------------------------
#
# The margins are s_A − s_B and s_A − s_C. RankNet adds one logistic term for each; StructRank, as a cumulative
# distribution network, has one term of both: log(1 + exp(−margin) + exp(−other margin)). Both are −log P(A above B and
# C), each with its own idea of P.

import matplotlib.pyplot as plt
import numpy as np

import podium

grades = [1, 0, 0]
margins = np.linspace(-4, 4, 41)
losses = {
    "RankNet: one pair at a time": podium.losses.RankNetLoss(normalize=False),
    "StructRank: both at once": podium.losses.StructRankLoss(learn_weights=False),
}


def surface(loss):
    """Return the loss at each pair of margins."""
    return np.array([[loss.value_and_gradient([0.0, -b, -c], grades, [0, 3]).value for b in margins] for c in margins])


figure, panels = plt.subplots(1, 2, figsize=(9, 4.4), sharex=True, sharey=True)
few = np.linspace(-3.5, 3.5, 9)
for ax, (name, loss) in zip(panels, losses.items(), strict=True):
    drawn = ax.contourf(margins, margins, surface(loss), levels=np.arange(0, 9), cmap="Blues", extend="max")
    b, c = (grid.ravel() for grid in np.meshgrid(few, few))
    lists = np.column_stack([np.zeros_like(b), -b, -c])  # 81 lists at once: their gradients come in one call
    slopes = loss.value_and_gradient(lists.ravel(), grades * len(b), np.arange(0, 3 * len(b) + 1, 3)).d_scores
    _, of_b, of_c = slopes.reshape(-1, 3).T * len(b)
    ax.quiver(b, c, of_b, of_c, color="C1", width=0.006)
    ax.set(title=name, xlabel="margin of A over B", aspect="equal")
    ax.grid(visible=False)
panels[0].set_ylabel("margin of A over C")
figure.colorbar(drawn, ax=panels, label="loss; arrows: the step down", shrink=0.85)
plt.show()

# %%
# Who gets the push
# -----------------
#
# A cut makes it plain. For each margin over B, how hard does the loss push B down? RankNet's answer does not depend on
# C. StructRank's does: while C is far above A, where the list goes wrong is C, and B can wait.

figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True)
for ax, (name, loss) in zip(panels, losses.items(), strict=True):
    for color, other in zip(("C1", "C5", "C0"), (-3.0, 0.0, 3.0), strict=True):
        push = [loss.value_and_gradient([0.0, -b, -other], grades, [0, 3]).d_scores[1] for b in margins]
        ax.plot(margins, push, color=color, label=f"margin over C: {other:+.0f}")
    ax.set(title=name, xlabel="margin of A over B")
panels[0].set_ylabel("slope for B")
panels[0].lines[0].set_linewidth(6)  # the three coincide
panels[0].lines[1].set_linewidth(4)
panels[1].legend()
plt.show()

# %%
# Which of them is right?
# -----------------------
#
# Let every score carry noise of its own (Gumbel's, so that a single pair is logistic), and count how often A is above
# both.

noise = np.random.default_rng(0).gumbel(size=(200_000, 3))
print("margins    counted   RankNet   StructRank")
for b, c in ((0.0, 0.0), (1.0, 1.0), (2.0, -1.0)):
    noisy = noise - [0.0, b, c]
    counted = np.mean(noisy[:, 0] > noisy[:, 1:].max(axis=1))
    says = [np.exp(-loss.value_and_gradient([0.0, -b, -c], grades, [0, 3]).value) for loss in losses.values()]
    print(f"{b:+.0f}, {c:+.0f}     {counted:.3f}     {says[0]:.3f}     {says[1]:.3f}")

# %%
# StructRank's figure is the share that was counted. RankNet's product is too small, because the two preferences are not
# independent: they share A, and if noise lifts A above B, it probably lifts A above C as well. That is what *joint*
# means here, and why StructRank spends its effort on the preference that is violated most.
