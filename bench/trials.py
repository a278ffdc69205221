"""Tries many breaks in one run of pytest: each in a forked child, in which one function is broken.

Importing the product and its tests anew for each break would cost far more than the tests.
"""

import gc
import json
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import CodeType, FunctionType

import pytest
from coverage import Coverage, CoverageData

from bench.mutations import Mutation

OPTIMIZED = 1  # the flag of code objects that are functions, not bodies of modules and classes
SEEN = 1
LEAST_SECS = 10


class Trials:
    """A plugin that runs the tests once with a note of where they pass, then once for each break.

    `survivors` are breaks that no test passing over their line saw; `unfit` those that are made
    while a module is imported.
    """

    def __init__(self, top: Path, breaks: Sequence[Mutation], children: int) -> None:
        self.survivors: list[Mutation] = []
        self.unfit: list[Mutation] = []
        self._tests: dict[tuple[str, int], list[str]] = {}
        self._took: dict[str, float] = {}
        self.failed: list[str] = []
        self._top = top
        self._breaks = breaks
        self._children = children
        self._folder = Path(tempfile.mkdtemp(prefix="mutants-"))

    def passing(self, mutation: Mutation) -> list[str]:
        """Return the tests that pass over the line of a break, the quickest first."""
        names = self._tests.get((mutation.file, mutation.line), [])
        return sorted(names, key=self._took.__getitem__)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run, instead of all tests once, those of each break."""
        try:
            self._guide(session)
            if not self.failed:
                self._try_all(session)
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)
        return True

    def _guide(self, session: pytest.Session) -> None:
        """Run all unbroken, in a child too: what tests keep would hide a break from them."""
        data_file = self._folder / "passes"
        pid = os.fork()
        if not pid:
            cover = Coverage(data_file=str(data_file), source=["exporter"], branch=False)
            cover.start()
            failed = self._run(session, session.items, cover)
            cover.stop()
            cover.save()
            told = json.dumps({"failed": failed.splitlines(), "took": self._took})
            (self._folder / "told").write_text(told, "utf-8")
            os._exit(0)
        os.waitpid(pid, 0)
        told = json.loads((self._folder / "told").read_text("utf-8"))
        self.failed, self._took = told["failed"], told["took"]
        data = CoverageData(str(data_file))
        data.read()
        for file in {each.file for each in self._breaks}:
            for line, contexts in data.contexts_by_lineno(str(self._top / file)).items():
                self._tests[file, line] = contexts
        data.close()

    def _try_all(self, session: pytest.Session) -> None:
        by_id = {item.nodeid: item for item in session.items}
        running: dict[int, Mutation] = {}
        for each in self._breaks:
            functions = list(broken_functions(self._top, each))
            if not functions:
                self.unfit.append(each)
                continue
            items = [by_id[name] for name in self.passing(each)]
            if not items:
                self.survivors.append(each)
                continue
            while len(running) >= self._children:
                self._wait(running)
            running[self._start(session, items, functions)] = each
        while running:
            self._wait(running)

    def _start(
        self,
        session: pytest.Session,
        items: list[pytest.Item],
        functions: list[tuple[FunctionType, CodeType]],
    ) -> int:
        pid = os.fork()
        if pid:
            return pid
        os.setsid()
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        for function, code in functions:
            function.__code__ = code
        try:
            failed = self._run(session, items)
        except BaseException:  # noqa: BLE001 - a child of a fork must not go on as its parent
            failed = "pytest itself"
        os._exit(SEEN if failed else 0)

    def _wait(self, running: dict[int, Mutation]) -> None:
        pid, status = os.wait()
        each = running.pop(pid, None)
        if each is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)  # what a test left behind
        if status == 0:
            self.survivors.append(each)
        shutil.rmtree(self._folder / str(pid), ignore_errors=True)

    def _run(
        self, session: pytest.Session, items: list[pytest.Item], cover: Coverage | None = None
    ) -> str:
        """Return the names of tests that failed, the first one only unless all are looked at."""
        quiet = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(quiet, stream)
        folder = self._folder / str(os.getpid())
        folder.mkdir()
        session.config._tmp_path_factory._basetemp = folder  # type: ignore[attr-defined]  # noqa: SLF001 - each child has its own
        failed = ""
        for item, following in zip(items, [*items[1:], None], strict=True):
            before, began = session.testsfailed, time.monotonic()
            if cover is not None:
                cover.switch_context(item.nodeid)
            else:  # what never ends is seen
                signal.alarm(LEAST_SECS + int(5 * self._took[item.nodeid]))
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            self._took[item.nodeid] = time.monotonic() - began
            if session.testsfailed > before:
                failed += f"{item.nodeid}\n"
                if cover is None:
                    break
        return failed


def broken_functions(top: Path, mutation: Mutation) -> Iterator[tuple[FunctionType, CodeType]]:
    """Yield the living functions that a break changes; none where it changes what imports do."""
    path = str(top / mutation.file)
    source = Path(path).read_bytes()
    before = compile(source, path, "exec")
    after = compile(mutation.apply(source), path, "exec")
    if _outside(before) != _outside(after):
        return
    changed = {
        _place(old): (old, new)
        for old, new in zip(_functions(before), _functions(after), strict=True)
        if old != new
    }
    gc.unfreeze()  # the tests freeze what they import, which hides it
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename == path:
            old, new = changed.get(_place(each.__code__), (None, None))
            if new is not None and old == each.__code__ and old.co_freevars == new.co_freevars:
                yield each, new


def _functions(code: CodeType) -> Iterator[CodeType]:
    """Yield functions of a module and of its classes, not those within functions."""
    for const in code.co_consts:
        if isinstance(const, CodeType):
            if const.co_flags & OPTIMIZED:
                yield const
            else:
                yield from _functions(const)


def _outside(code: CodeType) -> list[object]:
    """Return what runs when a module is imported."""
    parts: list[object] = [code.co_code, code.co_names]
    for const in code.co_consts:
        if not isinstance(const, CodeType):
            parts.append((type(const), const))
        elif not const.co_flags & OPTIMIZED:
            parts.append(_outside(const))
    return parts


def _place(code: CodeType) -> tuple[str, int]:
    return code.co_name, code.co_firstlineno
