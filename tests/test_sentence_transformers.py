"""Podium's losses in sentence-transformers' trainer, on a tiny encoder and on texts that Podium makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset
from sentence_transformers import CrossEncoder, CrossEncoderTrainer, CrossEncoderTrainingArguments

import podium
from podium.losses import ListNetLoss, PMOPLoss
from podium.sentence_transformers import ListLoss

from .tiny_sentence_transformers import tiny_encoder

RESULTS = podium.make_search_results(n_queries=40, n_documents=6, random_state=0)
DOCUMENTS = [RESULTS.document_ids[one].tolist() for one in RESULTS.slices()]
GRADES = [RESULTS.labels[one].tolist() for one in RESULTS.slices()]


@pytest.fixture
def model(tmp_path: Path) -> CrossEncoder:
    return tiny_encoder([*RESULTS.qids, *RESULTS.document_ids], tmp_path)


def batch(n: int = 3) -> tuple[list[Any], list[torch.Tensor]]:
    """The first lists, which have different lengths."""
    return [RESULTS.qids[:n].tolist(), DOCUMENTS[:n]], [torch.tensor(grades) for grades in GRADES[:n]]


def scores_of(model: CrossEncoder, n: int = 3) -> np.ndarray:
    pairs = [
        (query, text) for query, texts in zip(RESULTS.qids.tolist()[:n], DOCUMENTS, strict=False) for text in texts
    ]
    return model.predict(pairs, activation_fn=torch.nn.Identity())


def train(model: CrossEncoder, loss: ListLoss, folder: Path, epochs: int) -> None:
    lists = Dataset.from_dict({"query": RESULTS.qids.tolist(), "documents": DOCUMENTS, "labels": GRADES})
    arguments = CrossEncoderTrainingArguments(
        output_dir=str(folder),
        num_train_epochs=epochs,
        per_device_train_batch_size=8,
        learning_rate=0.01,
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
        use_cpu=True,
    )
    CrossEncoderTrainer(model=model, args=arguments, train_dataset=lists, loss=loss).train()


@pytest.mark.parametrize("loss", ["pmop", ListNetLoss()], ids=str)
def test_the_value_is_podiums_on_lists_of_any_length(model: CrossEncoder, loss: Any) -> None:
    inputs, labels = batch()
    assert len(set(map(len, labels))) > 1
    found = ListLoss(model, loss)(inputs, labels)
    used = PMOPLoss() if loss == "pmop" else loss
    expected = used.value_and_gradient(scores_of(model), np.concatenate(labels), np.cumsum([0, *map(len, labels)]))
    assert found.item() == pytest.approx(expected.value, rel=1e-5)


def test_mini_batches_change_neither_value_nor_gradient(model: CrossEncoder) -> None:
    sizes: list[int] = []
    preprocess = model.preprocess
    model.preprocess = lambda pairs, **options: (sizes.append(len(pairs)), preprocess(pairs, **options))[1]
    results = []
    for size in (None, 4):
        model.zero_grad()
        value = ListLoss(model, "pmop", mini_batch_size=size)(*batch())
        value.backward()
        gradient = torch.cat([p.grad.reshape(-1) for p in model.parameters() if p.grad is not None])
        results.append((value.item(), gradient))
    n = sum(map(len, DOCUMENTS[:3]))
    assert sizes[0] == n
    assert sum(sizes[1:]) == n
    assert max(sizes[1:]) == 4
    assert results[0][0] == pytest.approx(results[1][0], rel=1e-6)
    assert results[0][1].abs().max() > 1e-4
    torch.testing.assert_close(results[0][1], results[1][1], rtol=1e-3, atol=1e-6)


def test_the_activation_comes_before_the_loss(model: CrossEncoder) -> None:
    inputs, labels = batch()
    found = ListLoss(model, "listnet", activation_fn=torch.nn.Sigmoid())(inputs, labels).item()
    squashed = 1 / (1 + np.exp(-scores_of(model).astype(float)))
    expected = ListNetLoss().value_and_gradient(squashed, np.concatenate(labels), np.cumsum([0, *map(len, labels)]))
    assert found == pytest.approx(expected.value, rel=1e-5)


def test_training_ranks_better_and_a_loss_learns_its_own_parameter(model: CrossEncoder, tmp_path: Path) -> None:
    def quality() -> float:
        return podium.evaluate(RESULTS, scores_of(model, 40), metrics="ndcg@10").mean["ndcg@10"]

    before = quality()
    loss = ListLoss(model, "davidson", mini_batch_size=64)
    start = loss.criterion.own.item()
    train(model, loss, tmp_path / "out", epochs=6)
    assert quality() > before + 0.1
    assert loss.criterion.own.item() != start
    card = loss.get_config_dict()
    assert card["loss"] == "DavidsonLoss()"
    assert card["mini_batch_size"] == 64


def test_random_losses_draw_anew_in_each_training_step(model: CrossEncoder) -> None:
    loss, again, given = ListLoss(model, "listmle"), ListLoss(model, "listmle"), batch()
    values = [loss(*given).item() for _ in range(4)]
    assert len(set(values)) > 1  # the orders of tied documents
    assert values == [again(*given).item() for _ in range(4)]
    assert len({loss.eval()(*given).item() for _ in range(2)}) == 1


def test_a_wrong_batch_is_refused(model: CrossEncoder, tmp_path: Path) -> None:
    loss = ListLoss(model, "pmop")
    (queries, documents), labels = batch()
    with pytest.raises(ValueError, match="two columns"):
        loss([queries, documents, documents], labels)
    with pytest.raises(ValueError, match="one number per query"):
        loss([queries, documents], torch.zeros(3))
    with pytest.raises(ValueError, match="there is none"):
        loss([queries, documents], None)
    with pytest.raises(ValueError, match=r"list 1 of the batch has .* documents and 1 grades"):
        loss([queries, documents], [labels[0], labels[1][:1], labels[2]])
    with pytest.raises(ValueError, match="list 0 of the batch are one text"):
        loss([queries[:1], ["oak desk"]], [torch.zeros(8)])
    with pytest.raises(ValueError, match="no list of the batch has a document"):
        loss([queries[:1], [[]]], [torch.zeros(0)])
    with pytest.raises(ValueError, match="Did you mean pmop"):
        ListLoss(model, "pmopp")
    with pytest.raises(ValueError, match="mini_batch_size"):
        ListLoss(model, "pmop", mini_batch_size=0)
    with pytest.raises(ValueError, match="one output per pair; this one has 2"):
        ListLoss(tiny_encoder(["oak desk"], tmp_path / "two", num_labels=2), "pmop")
