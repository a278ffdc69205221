"""The recordings themselves: enough of them, each judged by one file, labels that name rules."""

from collections import Counter

from tests.corpus import (
    test_batches_since_eleventh,
    test_batches_to_eighth,
    test_ninth_and_tenth_batch,
)
from tests.corpus.cases import BATCHES, CASES
from tests.corpus.promises import shipped


def test_each_batch_is_judged_by_one_file() -> None:
    """A batch that no file names would be judged by nobody."""
    files = (test_batches_to_eighth, test_ninth_and_tenth_batch, test_batches_since_eleventh)
    assert Counter(name for file in files for name in file.JUDGED) == Counter(BATCHES.keys())


def test_there_are_enough_recordings() -> None:
    """At least forty incidents and twenty healthy nodes, each with a name of its own."""
    assert sum(case.is_incident for case in CASES) >= 40
    assert sum(not case.is_incident for case in CASES) >= 20
    assert len({case.name for case in CASES}) == len(CASES)


def test_a_label_speaks_of_rules_that_exist() -> None:
    """A fault that is expected names a shipped rule: a renamed one would be missed in silence."""
    known = {rule.id for rule in shipped().rules}
    labels = {label for case in CASES for label in (*case.expect, *case.root)}
    assert len(labels) > 100
    unknown = {
        label
        for label in labels
        if not any(each.partition("@")[0] in known for each in label.split("|"))
    }
    assert unknown == set()
