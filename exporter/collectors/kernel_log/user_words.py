"""Messages of the kernel that hold words of users, and the kinds of events that they may be.

`user_words.toml` lists them with the functions that print them. A message that begins with a word
of a user and holds another one could be read as a message of a driver. The kernel's own text
between the words tells it, and then the message is an event of its own kinds or none.
"""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from exporter.record import dataclass
from exporter.toml import read_shipped

WORD_BYTES = {
    "comm": 15,  # TASK_COMM_LEN without the zero
    "interface": 15,  # IFNAMSIZ without the zero; no blank, slash or colon
    "module": 55,  # MODULE_NAME_LEN
    "usb": 126,  # a string descriptor
    "prefix": 127,  # NF_LOG_PREFIXLEN without the zero
    **dict.fromkeys(("cgroup", "command", "file", "label", "option", "server"), 255),
}
"""The kinds of words that users choose, and how many bytes the kernel prints of each at most."""

NO_KINDS: frozenset[str] = frozenset()

_PACKET = re.compile(r"IN=[^ ]{0,15} OUT=[^ ]{0,15} ")
"""What nf_log_dump_packet_common and ebt_log_packet print after the prefix of a rule."""

_FIRST_WORD = re.compile(
    r"PHYS.*|MAC=(?:[0-9a-f]{2}(?::[0-9a-f]{2})*)?|MAC(?:SRC|PROTO)=.*|VPROTO=.*|SRC=[0-9a-f.:]+"
    r"|ARP|TRUNCATED|",
    re.DOTALL,
)
"""The first word of the rest of the message, which no name of a process is long enough to hold."""

_PACKET_WORD = re.compile(r"[A-Z]\w*(?:[=:].*)?|[0-9A-F]*|bytes", re.ASCII | re.DOTALL)
"""A word of the rest of the message: all of them are like that to its end."""

_BRIDGED = "MAC source = "
"""How the rest begins where ebt_log_packet printed it; it has no colon before a blank."""


@dataclass(frozen=True, slots=True)
class UserWords:
    """One message of the kernel with `{comm}` and the like in the places of words of users.

    `kinds` are the events that the message may be; `sign` is the pattern of the kernel's own text
    behind a word at the beginning, empty where no pattern of a driver could reach across it.
    """

    text: str
    printer: str
    who: str
    kinds: frozenset[str]
    sign: str


@cache
def user_words() -> tuple[UserWords, ...]:
    """Read all messages from `user_words.toml`."""
    table = read_shipped(Path(__file__).with_suffix(".toml"))
    return tuple(
        UserWords(
            text=row["text"],
            printer=row["printer"],
            who=table["who"][row["who"]],
            kinds=frozenset(row.get("kinds", ())),
            sign=row.get("sign", ""),
        )
        for row in table["message"]
    )


def possible_kinds(lines: Iterable[str]) -> frozenset[str] | None:
    """Return the kinds that messages with these lines may be; None where any kind may be.

    `lines` are the places where a message may begin: the text of one record, or each line where
    the text may be that of several.
    """
    for line in lines:
        if _is_packet(line):
            return NO_KINDS
        for sign, kinds in _signs():
            if sign.match(line):
                return kinds
    return None


@cache
def _signs() -> tuple[tuple[re.Pattern[str], frozenset[str]], ...]:
    return tuple(
        (re.compile(rf".{{0,{_length_of_head(row)}}}(?:{row.sign})", re.DOTALL), row.kinds)
        for row in user_words()
        if row.sign
    )


def _length_of_head(row: UserWords) -> int:
    """Count the characters that the word at the beginning has at most."""
    return WORD_BYTES[row.text[1 : row.text.index("}")]]


def _is_packet(line: str) -> bool:
    """Tell whether netfilter logged a packet, after a prefix of any text.

    A word of a driver's message may look like that, so all must be netfilter's to the end.
    """
    return any(_is_rest_of_packet(line[found.end() :]) for found in _PACKET.finditer(line))


def _is_rest_of_packet(rest: str) -> bool:
    if rest.startswith(_BRIDGED):
        return ": " not in rest
    words = rest.split(" ")
    return _FIRST_WORD.fullmatch(words[0]) is not None and all(
        _PACKET_WORD.fullmatch(word.strip("[]()")) for word in words
    )
