"""One sentence for equal faults of several components."""

import re
from collections import Counter
from collections.abc import Sequence

from exporter.model.verdict import Naming, Subject

FEW = 3
"""Up to so many equal faults are named by component, more by their number."""

_CODE = re.compile(r"\w+ \d")
"""A name with a number keeps its capital letter within a sentence."""


_RELATING = re.compile(r"\b(?:of|on|in|for|below|between|with|at|to)\b|[^\w -]")
"""Text between a fact and the component that is more than the component's kind."""

_ASIDE = re.compile(r", nearest to [^()]{0,80}?\d, (?=[a-z])")
"""What is said in passing of one component."""


def grouped_summary(alike: Sequence[tuple[Subject, str]], naming: Naming, total: int) -> str:
    """Summarize equal faults of several components in one sentence.

    For example "8 of 8 GPUs: row remapping failed".
    """
    kind = alike[0][0].hw_type
    texts = Counter(_without_name(subject, summary) for subject, summary in alike)
    text = texts.most_common(1)[0][0]
    if len(texts) > 1:
        heads = dict.fromkeys(each.partition(": ")[0] for each in texts)
        text = " or ".join(list(heads)[:FEW])
    if not naming.is_numbered and len(alike) <= FEW:
        return f"{', '.join(sorted(subject.hw_name for subject, _ in alike))}: {text}"
    number = max(total, len(alike))
    plural = naming.plural or f"{kind.replace('_', ' ')}s"
    return f"{len(alike)} of {number} {plural}: {text}"


def _without_name(subject: Subject, summary: str) -> str:
    """Return the summary without the component's name."""
    name, summary = subject.hw_name, _ASIDE.sub(" ", summary)
    kind, found, rest = summary.partition(f"{name} ")
    if found and not _RELATING.search(kind) and len(kind.split()) <= FEW:
        return f"each {rest}"
    for word in (f" of {name}", f" on {name}"):
        summary = summary.replace(word, "")
    shown = summary.replace(name, "them")
    is_word = (shown[1:2].islower() and not _CODE.match(shown)) or shown.startswith("A ")
    return f"{shown[0].lower()}{shown[1:]}" if is_word else shown
