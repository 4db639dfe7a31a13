"""The header of a model file."""

from typing import Any

from podium.version import __version__

FORMAT, FORMAT_VERSION = "podium model", 1


def check_header(header: dict[str, Any]) -> None:
    """Raise ValueError or KeyError unless this is the header of a model that this version can read."""
    if header.get("format") != FORMAT:
        raise ValueError("its model.json is not that of a Podium model")
    version = header.get("version")
    if not isinstance(version, int) or version < 1:
        raise ValueError(f"its format version is {version!r}")
    if version > FORMAT_VERSION:
        raise ValueError(
            f"made by a newer Podium (format {version}; this is Podium {__version__}, format {FORMAT_VERSION}): "
            "upgrade podium to load it"
        )
    for name in ("parameters", "fitted"):
        if not isinstance(header.get(name), dict):
            raise KeyError(name)
    if not isinstance(header.get("provenance", {}), dict):
        raise ValueError("its provenance is not a table of facts")
