"""docs/kernel-log.md: kinds of events and their fields; the table of messages in security.md."""

from collections.abc import Iterator

from exporter.collectors.kernel_log.pattern_file import shipped_lines
from exporter.collectors.kernel_log.user_words import user_words
from tools.tables import row, with_tables


def kernel_log_page() -> str:
    """Return docs/kernel-log.md with its tables of kinds and of text that a tenant controls."""
    tables = {"## Events": _kinds(), "## What a tenant can write": _tenants()}
    return with_tables("docs/kernel-log.md", tables)


def security_page() -> str:
    """Return docs/security.md with its table of the messages that hold text of users."""
    return with_tables("docs/security.md", {"## Text of users in the kernel log": _user_words()})


def _user_words() -> Iterator[str]:
    for words in user_words():
        text = words.text.replace("\n", "⏎").replace("`", "'").strip()
        kinds = ", ".join(f"`{kind}`" for kind in sorted(words.kinds)) or "none"
        yield row(f"`{text}`", words.printer, words.who, kinds)


def _kinds() -> Iterator[str]:
    for kind, (event_type, meaning) in sorted(shipped_lines().kinds.items()):
        rows = [line for line in shipped_lines().rows if line.kind == kind]
        fields = sorted({field for line in rows for field in line.field_names})
        listed = ", ".join(f"`{field}`" for field in fields)
        yield row(f"`{kind}`", event_type.value, meaning, listed)


def _tenants() -> Iterator[str]:
    for kind in sorted(shipped_lines().kinds):
        rows = [line for line in shipped_lines().rows if line.kind == kind]
        words = {word for line in rows for word in line.tenant_words}
        for word in sorted(words, key=lambda word: word.what):
            yield row(f"`{kind}`", word.what, word.why_harmless)
