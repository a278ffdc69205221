"""All collectors together, imported: for documents, for checks of rules, and for tests."""

from functools import cache

from exporter.collector import Collectors
from exporter.collectors import every
from exporter.exposition.page import Moment

EVERYTHING: Collectors = every()
FAMILIES = EVERYTHING.families
live_families = EVERYTHING.live_families
LIVE_FAMILIES = live_families(Moment(0.0))
NAMES = EVERYTHING.names
TAKEN = EVERYTHING.names_taken
SOURCES = EVERYTHING.sources
SHIPPED = EVERYTHING.rules
KINDS = EVERYTHING.subjects
VOCABULARY = KINDS.vocabulary
TRAITS = KINDS
families_of = EVERYTHING.families_of
rule_book = cache(EVERYTHING.rule_book)
scene_of = KINDS.scene_of

__all__ = [
    "EVERYTHING",
    "FAMILIES",
    "KINDS",
    "LIVE_FAMILIES",
    "NAMES",
    "SHIPPED",
    "SOURCES",
    "TAKEN",
    "TRAITS",
    "VOCABULARY",
    "families_of",
    "live_families",
    "rule_book",
    "scene_of",
]
