"""`hw-exporter completion bash|zsh|fish`: shell completion, generated from the parser."""

import argparse
from collections.abc import Iterator

from exporter.commands.invocation import Invocation
from exporter.exit_codes import EXIT_OK
from exporter.record import dataclass

_BASH = """\
_hw_exporter() {{
  local command="" words="{top}" word value=""
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    if [ -n "$value" ]; then value=""; continue; fi
    case "$command $word" in
{cases}
    esac
  done
  case "$value" in
    "") ;;
{values}
    *) words="" ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _hw_exporter hw-exporter"""

_ZSH = """\
#compdef hw-exporter
autoload -U +X bashcompinit && bashcompinit
{bash}"""


@dataclass(frozen=True, slots=True)
class _Level:
    """A command and its completions; `values` are options with a value, and the choices of each."""

    path: tuple[str, ...]
    flags: tuple[str, ...]
    values: dict[str, tuple[str, ...]]
    below: tuple[str, ...]
    choices: tuple[str, ...]

    @property
    def words(self) -> str:
        return " ".join((*self.flags, *self.values, *self.below, *self.choices))


def completion(invocation: Invocation) -> int:
    """Print the completion script of the shell; return the exit code."""
    from exporter.commands.arguments import build_parser  # noqa: PLC0415 - it names this module

    levels = list(_levels(build_parser(), ()))
    shell = invocation.options.shell
    print(_fish(levels) if shell == "fish" else _bash(levels, is_zsh=shell == "zsh"))
    return EXIT_OK


def _levels(parser: argparse.ArgumentParser, path: tuple[str, ...]) -> Iterator[_Level]:
    """Yield a command and each command below it."""
    flags: list[str] = []
    values: dict[str, tuple[str, ...]] = {}
    below: dict[str, argparse.ArgumentParser] = {}
    choices: tuple[str, ...] = ()
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to look at a parser
        options = [option for option in action.option_strings if option.startswith("--")]
        allowed = tuple(map(str, action.choices or ()))
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - as above
            below = dict(action.choices)
        elif not options:
            choices += allowed
        elif action.nargs == 0:
            flags += options
        else:
            values |= dict.fromkeys(options, allowed)
    yield _Level(path, tuple(flags), values, tuple(below), choices)
    for name, child in below.items():
        yield from _levels(child, (*path, name))


def _bash(levels: list[_Level], *, is_zsh: bool) -> str:
    values = {option: allowed for level in levels for option, allowed in level.values.items()}
    taking = "|".join(f'*" {option}"' for option in values)
    cases = [f'      {taking}) value="$word" ;;']
    for level in levels[1:]:
        path = "".join(f" {name}" for name in level.path)
        cases.append(f'      "{path}") command="$command $word" words="{level.words}" ;;')
    known = [f'    {option}) words="{" ".join(v)}" ;;' for option, v in values.items() if v]
    text = _BASH.format(top=levels[0].words, cases="\n".join(cases), values="\n".join(known))
    return _ZSH.format(bash=text) if is_zsh else text


def _fish(levels: list[_Level]) -> str:
    lines = []
    for level in levels:
        seen = [f"__fish_seen_subcommand_from {name}" for name in level.path]
        if level.path and level.below:
            seen.append(f"not __fish_seen_subcommand_from {' '.join(level.below)}")
        start = f"complete -c hw-exporter -n '{'; and '.join(seen) or '__fish_use_subcommand'}'"
        lines += [f"{start} -l {flag[2:]}" for flag in level.flags]
        for option, allowed in level.values.items():
            value = f"-x -a '{' '.join(allowed)}'" if allowed else "-r"
            lines.append(f"{start} -l {option[2:]} {value}")
        lines += [f"{start} -f -a {word}" for word in (*level.below, *level.choices)]
    return "\n".join(lines)
