"""Texts of alerts: the summaries and advice of the rules, without readings."""

import re

from exporter.faults.rules.rule import Rule
from exporter.faults.rules.templates import COMMAND, Template
from tools.alerting.links import in_command

_READING = re.compile(r"\{(?!name\})[^}]*\}")


def sentence(rule: Rule) -> str:
    """Return the summary of the rule without readings, which would change at each evaluation."""
    text = _source(rule.alert) or _without_readings(_source(rule.summary))
    return text.replace("{name}", "{{ $labels.hw_name }}")


def advice(rule: Rule) -> str:
    """Return what to do, without readings."""
    text = _without_readings(_source(rule.advice).replace(" -i {index}", ""))
    words = ("{{ $labels.hw_name }}", in_command("hw_name"))
    parts = enumerate(text.split(COMMAND))
    return COMMAND.join(part.replace("{name}", words[at % 2]) for at, part in parts)


def _source(template: Template) -> str:
    """Return the template with each field in braces."""
    parts = (
        part if isinstance(part, str) else "{" + part.name.text + "}" for part in template.parts
    )
    return "".join(parts)


def _without_readings(text: str) -> str:
    """Remove the part that has a reading: a bracket, or the end after a colon."""
    while _READING.search(text):
        shorter = _cut(text)
        if shorter == text:
            break
        text = shorter
    return re.sub(r"\s+", " ", _READING.sub("", text)).strip(" ,:;")


def _cut(text: str) -> str:
    for bracket in re.finditer(r"\s*\([^()]*\)", text):
        if _READING.search(bracket[0]):
            return text[: bracket.start()] + text[bracket.end() :]
    first = _READING.search(text)
    head = text[: first.start()] if first else text
    place = max(head.rfind(mark) for mark in (":", ";", ",", " in bank", " with", " at ", " by "))
    return text[:place] if place > 0 else text


def small(text: str) -> str:
    """Return the text in lower case, unless the first word is a name or an abbreviation."""
    first = text.split(" ", 1)[0]
    plain = first == "A" or (first.isalpha() and first[1:].islower() and first not in NAMES)
    return text[0].lower() + text[1:] if plain else text


NAMES = frozenset({"Xid"})
