"""What the program says, in words of Python: an option is an argument, and hints for a shell are left out."""

from __future__ import annotations

import re

LETTERS = {"i": "iters", "n": "n", "o": "stem", "r": "rank", "t": "threads"}  # as messages have them
OF_MODES = r"[a-z]\w*:\d+(?:[,:]\d+)*"  # a word and modes, as tfidf:2
NUMBER = r"\d[\d.]*(?:e[+-]?\d+)?(?::\d+)*(?![\w.]*[\w])"


def in_python(text: str, words: frozenset[str] | None = None) -> str:
    """words: what arguments of options may be; None: those of cpd(). Commands, as `blco convert --force`, stay."""
    if words is None:
        from ._cpd import WORDS

        return in_python(text, WORDS)
    value = "|".join([NUMBER, OF_MODES, r"[A-Z]+\b", *(rf"{re.escape(word)}\b" for word in sorted(words, reverse=True))])
    option = re.compile(rf"blco \w+(?: --[a-z-]+)+|(?<![\w-])(?:--([a-z][a-z-]*)|-([inort]))\b(?:(?:=| )({value}))?")

    def argument(found: re.Match[str]) -> str:
        name, letter, given = found.groups()
        if name is None and letter is None:
            return found[0]
        name = name.replace("-", "_") if name else LETTERS[letter]
        if given is None or given == "STEM":
            return name
        return f'{name}="{given}"' if given in words or ":" in given and given[0].islower() else f"{name}={given}"

    text = re.sub(r"; try blco (?:\w+ )?--help$", "", text)
    return re.sub(r"(=\S+) (\w+=)", r"\1, \2", option.sub(argument, text))
