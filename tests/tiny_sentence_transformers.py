"""A cross encoder with random weights, small enough for tests; nothing is downloaded."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from sentence_transformers import CrossEncoder
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast, set_seed

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")


def tiny_encoder(texts: Iterable[str], folder: Path, num_labels: int = 1) -> CrossEncoder:
    """Return an encoder whose words are those of the texts; without dropout, so that it repeats itself."""
    words = sorted({word for text in texts for word in re.findall(r"[a-z]+", text.lower())})
    vocabulary = {word: number for number, word in enumerate([*SPECIAL, *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token"), SPECIAL, strict=True))
    set_seed(0)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
        initializer_range=0.3,  # scores that differ
        num_labels=num_labels,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=32, **names).save_pretrained(folder)
    return CrossEncoder(str(folder), num_labels=num_labels, device="cpu")
