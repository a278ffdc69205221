"""The image that the tests of this folder run."""

import pytest

from tests.fakes.image import Image, NoImageError, built


@pytest.fixture(scope="session")
def image() -> Image:
    """The image of this working tree."""
    try:
        return built()
    except NoImageError as error:
        pytest.skip(f"the image: {error}")
