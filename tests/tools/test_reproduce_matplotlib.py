"""The picture that ``make reproduce`` draws."""

from __future__ import annotations


def test_the_picture(reproduce, comparison, tmp_path):
    reproduce.picture(comparison, tmp_path / "images" / "x.png")
    assert (tmp_path / "images" / "x.png").stat().st_size > 5_000
