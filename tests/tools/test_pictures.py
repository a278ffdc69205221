"""The README's picture shows what the page shows now."""

import re

import pytest

from tools.pictures.browser import NoBrowser, find_program
from tools.pictures.draw import LOSS_SECS, PICTURE, ROOT, lost_gpu, with_words, words, words_in


@pytest.mark.system
async def test_the_picture_shows_what_the_page_says_now() -> None:
    """The words in the picture are those of the page; where they are not: `make pictures`."""
    try:
        find_program()
    except NoBrowser as reason:
        pytest.skip(str(reason))
    async with lost_gpu(LOSS_SECS) as tab:
        now = await words(tab)
    assert words_in(PICTURE.read_bytes()) == now, "draw it anew: make pictures"


def test_the_readme_says_what_the_picture_shows() -> None:
    """What stands in place of the picture for who cannot see it is in the picture."""
    readme = (ROOT / "README.md").read_text("utf-8")
    (text,) = re.findall(r"!\[([^\]]+)\]\(docs/pictures/page\.png\)", readme)
    shown = words_in(PICTURE.read_bytes())
    for sentence in text.split("; "):
        assert re.sub(r"\d+(?:\.\d+)?", "#", sentence) in shown


def test_words_are_kept_in_a_picture() -> None:
    """What is put in is what comes out, and the picture stays one."""
    picture = PICTURE.read_bytes()
    assert words_in(with_words(picture, "héllo\nworld")) == "héllo\nworld"
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    assert picture.endswith(b"IEND\xaeB`\x82")
