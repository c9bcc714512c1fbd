"""English that every Python installation has: the paragraphs of `pydoc_data.topics`, one character per token.

A paragraph keeps its own length. Nothing here pads, buckets or cuts.
"""

import re
from pydoc_data.topics import topics

import numpy as np

SHORTEST, LONGEST = 20, 400

START = "\n"
UNKNOWN = "\N{REPLACEMENT CHARACTER}"
ALPHABET = START + "".join(map(chr, range(32, 127))) + UNKNOWN
VOCABULARY = len(ALPHABET)

_TOKENS = {character: token for token, character in enumerate(ALPHABET)}
_PLAIN = str.maketrans("\u2018\u2019\u201c\u201d\u2013\u2014\u00a0", "''\"\"-- ")


def paragraphs() -> list[str]:
    """Return the distinct paragraphs of prose, each on one line, in the order of the topics.

    >>> len(paragraphs()) > 500
    True
    """
    blocks = (block for topic in topics.values() for block in re.split(r"\n[ \t]*\n", topic))
    lines = (" ".join(block.translate(_PLAIN).split()) for block in blocks if _is_prose(block))
    return [line for line in dict.fromkeys(lines) if SHORTEST <= len(line) < LONGEST]


def encode(text: str) -> np.ndarray:
    """Return the tokens of a text, after a start token, so that the first character is predicted too.

    >>> decode(encode("caf\u00e9"))[1:] == "caf" + UNKNOWN
    True
    """
    unknown = _TOKENS[UNKNOWN]
    return np.array([_TOKENS[START], *(_TOKENS.get(character, unknown) for character in text)])


def decode(tokens: np.ndarray) -> str:
    r"""Return the text of the tokens, the start token included.

    >>> decode(encode("a slice"))
    '\na slice'
    """
    return "".join(ALPHABET[token] for token in tokens)


def _is_prose(block: str) -> bool:
    """Return True for prose, which ends like a sentence; headings are underlined, grammar and code are indented."""
    lines = block.strip("\n").splitlines()
    flush = bool(lines) and not lines[0].startswith("    ")
    underlined = any(re.fullmatch(r"\s*([*=\-~^+])\1{2,}\s*", line) for line in lines)
    return flush and not underlined and block.rstrip().endswith((".", ":", ";", "?", "!", ")"))
