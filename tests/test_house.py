"""The rules of the house that no ready-made tool checks."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "exporter"
MODULES = sorted(PACKAGE.rglob("*.py"))

MAX_FILE_LINES = 350
MAX_FUNCTION_LINES = 45
ROOMS = ("collectors", "faults", "reading", "reports")
MAX_MODULES_IN_A_ROOM = 25
VAGUE_NAMES = {"util", "utils", "helper", "helpers", "common", "core", "base", "manager"}

IMPORTS_ALLOWED_IN = {
    "pynvml": (),  # for tests: `nvml_probe/nvml.py` is a tenth of its size
    "cpuinfo": ("collectors/cpu/model_probe.py",),
    "subprocess": ("probes/child.py",),
    "prometheus_client": ("exposition/", "commands/"),
    "aiohttp": ("web/", "commands/", "outgoing.py"),
}
ENGINE = ("collector", "exposition", "faults", "loop", "model", "probes", "reading", "rule_runner")
HARDWARE = re.compile(
    r"(?<![a-z])(amdgpu|cards?\b|cuda|dimm|disks?\b|ecc\b|ethernet|gpu|hbm|infiniband|mellanox|mig\b"
    r"|nics?\b|npu\b|nvidia|nvlink|nvme|nvml|nvswitch|pci|rdma|roce|sxid|xids?\b)",
    re.IGNORECASE,
)
EXAMPLE = re.compile(r"For example.*?(?:\n\s*\n|\"\"\")", re.DOTALL)
"""The paragraph of a docstring that is marked as an example."""

RIDDLE = re.compile(
    r"(?:^|[.:]\s+)(?:One that|Those that|What it|Who|Whom|Whose)\b|only those that"
    r"|\b(?:for|of) one that\b|\bNone for what\b|\bwhom\b"
)

CALLS_ALLOWED_IN = {
    "time.time": ("clock.py",),
    "os.environ": ("cli.py",),
    "os.getenv": ("cli.py",),
}


@cache
def _nodes(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of the module, which is parsed once for all tests."""
    return tuple(ast.walk(ast.parse(path.read_text("utf-8"))))


def _named(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def test_a_module_can_be_read_at_once() -> None:
    """No module has more than 350 lines, and none has a name that says nothing."""
    lengths = {_named(path): len(path.read_text("utf-8").splitlines()) for path in MODULES}
    assert {name for name, lines in lengths.items() if lines > MAX_FILE_LINES} == set()
    assert [path for path in MODULES if path.stem in VAGUE_NAMES] == []


def test_a_room_can_be_looked_over() -> None:
    """No folder of the collectors and of the rule engine has more than 25 modules."""
    modules = Counter(_named(path.parent) for path in MODULES if _named(path).startswith(ROOMS))
    assert {room for room, count in modules.items() if count > MAX_MODULES_IN_A_ROOM} == set()


def test_a_function_fits_on_a_screen() -> None:
    """No function has more than 45 lines."""
    too_long = [
        f"{_named(path)}: {node.name} ({_length(node)})"
        for path in MODULES
        for node in _nodes(path)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and _length(node) > MAX_FUNCTION_LINES
    ]
    assert not too_long


def test_what_is_dangerous_has_one_place() -> None:
    """Wall clock, environment, processes and foreign libraries are used where the house says."""
    allowed = {**IMPORTS_ALLOWED_IN, **CALLS_ALLOWED_IN}
    wrong = [
        (place, name)
        for place, path in ((_named(path), path) for path in MODULES)
        for name in _used(_nodes(path)) & allowed.keys()
        if not place.startswith(allowed[name])
    ]
    assert not wrong


def test_the_engine_names_no_hardware() -> None:
    """Only examples in docstrings name a device or a vendor; what subjects are, collectors say."""
    files = [path for name in ENGINE for path in (PACKAGE / f"{name}.py",) if path.is_file()]
    files += [each for name in ENGINE for each in (PACKAGE / name).rglob("*.*") if _is_text(each)]
    named = {
        f"{_named(path)}: {found[0]}"
        for path in files
        for found in HARDWARE.finditer(EXAMPLE.sub("", path.read_text("utf-8")))
    }
    assert len(files) > len(ENGINE)
    assert named == set()


def _is_text(path: Path) -> bool:
    return path.suffix in {".py", ".toml", ".json"}


def _used(nodes: tuple[ast.AST, ...]) -> set[str]:
    return {*_imports(nodes), *_dotted_names(nodes)}


def test_docstrings_are_no_riddles() -> None:
    """No sentence begins with a pronoun whose noun is not in the sentence."""
    texts = (
        (path, node.value.value)
        for path in MODULES
        for node in _nodes(path)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )
    riddles = [(_named(path), text) for path, text in texts if RIDDLE.search(str(text))]
    assert riddles == []


def test_a_class_name_means_one_thing() -> None:
    """No two classes of the program have the same name."""
    nodes = (node for path in MODULES for node in _nodes(path))
    names = Counter(node.name for node in nodes if isinstance(node, ast.ClassDef))
    assert {name for name, count in names.items() if count > 1} == set()


def test_patching_is_rare() -> None:
    """At most five patches in a hundred tests: tests arrange by building values."""
    texts = [path.read_text("utf-8") for path in (ROOT / "tests").rglob("*.py")]
    patches = sum(len(re.findall(r"monkeypatch\.|mock\.patch|mocker\.", text)) for text in texts)
    tests = sum(len(re.findall(r"^\s*(?:async )?def test_", text, re.MULTILINE)) for text in texts)
    assert patches - 1 <= tests * 5 / 100  # the pattern above is one of them


def _length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _imports(nodes: tuple[ast.AST, ...]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def _dotted_names(nodes: tuple[ast.AST, ...]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield f"{node.value.id}.{node.attr}"
