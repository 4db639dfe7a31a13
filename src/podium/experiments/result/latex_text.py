"""Any text as LaTeX in plain ASCII, so that it prints without any encoding, font or package to set up."""

import re
import unicodedata
from collections.abc import Iterator

# A straight quotation mark is taken from another font: the usual one has curved ones only.
_SPECIAL = r"""
\ \textbackslash{}   { \{   } \}   $ \$   & \&   % \%   # \#   _ \_   ~ \textasciitilde{}   ^ \textasciicircum{}
< \textless{}   > \textgreater{}   | \textbar{}   " \texttt{\char34}   ` \`{}
"""
_IN_TEXT = r"""
ß \ss   æ \ae   Æ \AE   œ \oe   Œ \OE   ø \o   Ø \O   ł \l   Ł \L   ı \i   § \S   © \copyright
† \textdagger   ‡ \textdaggerdbl   – \textendash   — \textemdash   … \textellipsis   · \textperiodcentered
‘ \textquoteleft   ’ \textquoteright   “ \textquotedblleft   ” \textquotedblright
"""
_IN_FORMULAS = r"""
± \pm   × \times   − -   ≤ \leq   ≥ \geq   ≠ \neq   ≈ \approx
∈ \in   ∞ \infty   → \to   µ \mu   ² ^2   ³ ^3   ° ^\circ
"""
_GREEK = (
    *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu"),
    *("xi", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega"),
    *("Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega"),
)


def _pairs(table: str) -> Iterator[tuple[str, str]]:
    words = table.split()
    return zip(words[::2], words[1::2], strict=True)


def _greek(name: str) -> str:
    """Return the letter of this LaTeX name, which is also its Unicode name."""
    size = "CAPITAL" if name[0].isupper() else "SMALL"
    return unicodedata.lookup(f"GREEK {size} LETTER {name.upper().replace('LAMBDA', 'LAMDA')}")


_ACCENTS = {
    unicodedata.normalize("NFD", letter)[1]: command
    for letter, command in _pairs("""à ` á ' â ^ ã ~ ä " ā = ȧ . ă u ǎ v ő H å r ç c ạ d""")
}
_KNOWN = (
    dict(_pairs(_SPECIAL))
    | {character: f"{command}{{}}" for character, command in _pairs(_IN_TEXT)}
    | {character: f"${command}$" for character, command in _pairs(_IN_FORMULAS)}
    | {_greek(name): rf"$\{name}$" for name in _GREEK}
)


def escape(text: str) -> str:
    r"""Return text that LaTeX prints as it is, whatever its characters, in any document.

    Latin letters with accents, Greek letters and common signs are written as commands that need no package. Characters
    of other scripts, emoji and control characters would stop LaTeX, and are replaced by their code points.

    Examples
    --------
    >>> print(escape("50 % of naïve_α, 中"))
    50 \% of na\"{i}ve\_$\alpha$, \texttt{U+4E2D}
    """
    plain = unicodedata.normalize("NFC", " ".join(text.split()))
    written = "".join(map(_character, plain))
    # Two of these in a row would be joined into a dash or a quotation mark.
    apart = re.sub(r"([-',])(?=\1)", r"\1{}", written)
    # At the start of a table row, these would be taken for an argument of the preceding line end.
    return re.sub(r"^([\[*])", r"{\1}", apart)


def _character(character: str) -> str:
    if known := _KNOWN.get(character):
        return known
    if " " <= character <= "~":
        return character
    letter, *marks = list(unicodedata.normalize("NFD", character))
    if letter.isascii() and letter.isalpha() and len(marks) == 1 and marks[0] in _ACCENTS:
        return rf"\{_ACCENTS[marks[0]]}{{{letter}}}"
    return rf"\texttt{{U+{ord(character):04X}}}"
