"""Text that enters from hardware and kernel."""

import pytest

from exporter.model.label import MAX_LABEL_CHARS, clean_text


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        ("NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3"),
        (b"NV\xff\n", "NV\ufffd"),
        ("a\nb\tc\rd", "a b c d"),
        ("nul\0inside", "nul\ufffdinside"),
        ("\ud800surrogate", "\ufffdsurrogate"),
        ("\x1b[31mred", "\ufffd[31mred"),
        ("  spaces around  ", "spaces around"),
        ('quotes " and \\ stay', 'quotes " and \\ stay'),
        ("größer", "größer"),
        ("\u202ereversed", "\ufffdreversed"),
        ("", ""),
    ],
)
def test_labels_are_fit_to_be_written(raw: str | bytes, cleaned: str) -> None:
    """What cannot be encoded or would break a line is replaced; the rest stays."""
    assert clean_text(raw) == cleaned
    cleaned.encode("utf-8")


def test_labels_are_bounded() -> None:
    """Ten thousand characters become as many as a label may have."""
    assert len(clean_text("x" * 10_000)) == MAX_LABEL_CHARS
