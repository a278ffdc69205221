"""How a GPU stands in the NVLink fabric, in words."""

from exporter.collectors.gpu.fabric import words_of


def test_what_is_wrong_with_the_configuration_stands_for_it() -> None:
    """A recording may name the misconfiguration alone."""
    wrong = ("invalid_location", 1.0)
    assert words_of([("configuration", 1.0), wrong]) == "invalid location"
    assert words_of([wrong]) == "invalid location"
    assert words_of([("configuration", 1.0), ("route_recovery", 0.0)]) == "configuration"
