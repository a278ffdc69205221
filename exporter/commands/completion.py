"""`hw-exporter completion bash|zsh|fish`: shell completion, generated from the parser."""

import argparse
from collections.abc import Iterator

from exporter.commands.invocation import Invocation
from exporter.exit_codes import EXIT_OK

_BASH = """\
_hw_exporter() {{
  local words="{top}" word
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$word" in
{cases}
    esac
  done
  COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _hw_exporter hw-exporter"""

_ZSH = """\
#compdef hw-exporter
autoload -U +X bashcompinit && bashcompinit
{bash}"""


def completion(invocation: Invocation) -> int:
    """Print what the shell has to read; the exit code."""
    from exporter.commands.arguments import build_parser  # noqa: PLC0415 - it names this module

    words = dict(_words(build_parser()))
    shell = invocation.options.shell
    print(_fish(words) if shell == "fish" else _bash(words, is_zsh=shell == "zsh"))
    return EXIT_OK


def _words(parser: argparse.ArgumentParser, name: str = "") -> Iterator[tuple[str, list[str]]]:
    """Give each command with the options and commands that may follow it."""
    own: list[str] = []
    below: dict[str, argparse.ArgumentParser] = {}
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to look at a parser
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - as above
            below = dict(action.choices)
            own += below
        elif action.choices and not action.option_strings:
            own += [str(choice) for choice in action.choices]
        own += [option for option in action.option_strings if option.startswith("--")]
    yield name, own
    for child, its in below.items():
        yield from _words(its, child)


def _bash(words: dict[str, list[str]], *, is_zsh: bool) -> str:
    cases = "\n".join(
        f'      {name}) words="{" ".join(own)}" ;;' for name, own in words.items() if name
    )
    text = _BASH.format(top=" ".join(words[""]), cases=cases)
    return _ZSH.format(bash=text) if is_zsh else text


def _fish(words: dict[str, list[str]]) -> str:
    lines = []
    for name, own in words.items():
        seen = f"__fish_seen_subcommand_from {name}" if name else "__fish_use_subcommand"
        for word in own:
            what = f"-l {word[2:]}" if word.startswith("--") else f"-a {word}"
            lines.append(f"complete -c hw-exporter -n '{seen}' {what}")
    return "\n".join(lines)
