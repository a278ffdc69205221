"""Reads the XML of `nvidia-smi -q -x` while it comes, bounded in size and depth, without entities.

Documents: https://docs.nvidia.com/deploy/nvidia-smi/ and the DTDs it names (nvsmi_device_v*.dtd).
"""

import codecs
import re
from dataclasses import field
from itertools import dropwhile
from xml.parsers import expat

from exporter.record import dataclass

ROOT = "nvidia_smi_log"
MAX_DEPTH = 16
MAX_GPUS = 256
MAX_CELLS = 200_000
MAX_CELL_CHARS = 1024
MAX_SENTENCES = 200
MAX_TOKEN_CHARS = 256 * 1024
"""A tag or a piece of text longer than this is refused before it is read to its end."""

SKIPPED = {"supported_clocks", "accounted_processes", "retired_pagelist"}
"""Long lists that nothing is taken from."""

REPEATED = {"process_info": "processes", "mig_device": "mig_devices"}
"""Elements that come several times in a GPU, and the list they are kept in."""

_NAME_OF_PROCESS = re.compile(r"<process_name>.*</process_name>|<process_name>.*")
"""What a user calls a program is not needed here, and must not break or fake anything."""

_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""Characters that XML does not allow."""

Cells = dict[str, str]
"""The text of each element by the path to it: `{"fb_memory_usage/total": "81559 MiB"}`."""


@dataclass(slots=True)
class GpuElement:
    """One `<gpu>` element, read to its end."""

    bus_id: str
    cells: Cells = field(default_factory=dict)
    processes: list[Cells] = field(default_factory=list)
    mig_devices: list[Cells] = field(default_factory=list)
    lists_processes: bool = False  # it has the list, be it empty


class XmlRefusedError(Exception):
    """A document with an entity, too deep or too large; the message says which."""


class SmiDocument:
    """A document while it comes: what was read to its end so far, and what is wrong with it.

    `sentences` are the lines that are no XML: what nvidia-smi has to say beside its document.
    """

    def __init__(self) -> None:
        self.cells: Cells = {}
        self.gpus: list[GpuElement] = []
        self.sentences: list[str] = []
        self.is_whole = False
        self.problem: str | None = None
        self._gpu: GpuElement | None = None
        self._item: Cells | None = None  # the process or the MIG device that is being read
        self._path: list[str] = []
        self._text = ""
        self._cell_count = self._fed = 0
        self._skipped_depth: int | None = None
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._line = ""
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = self._on_doctype
        self._parser.EntityDeclHandler = self._on_entity
        self._parser.SkippedEntityHandler = self._on_entity
        self._parser.StartElementHandler = self._on_start
        self._parser.EndElementHandler = self._on_end
        self._parser.CharacterDataHandler = self._on_text

    def feed(self, chunk: bytes) -> None:
        """Read on; after the first problem the rest is passed over."""
        if self.problem is not None:
            return
        *lines, self._line = (self._line + self._decoder.decode(chunk)).split("\n")
        if len(self._line) > MAX_TOKEN_CHARS:
            self._refuse(f"a line of more than {MAX_TOKEN_CHARS} characters")
            self._line = ""
        self._take(lines)

    def close(self) -> None:
        """End the document: what lacks its end is not whole."""
        self._take([self._line])
        self._line = ""
        if not self.is_whole:
            self._refuse("the document ends before its end" if self._fed else "no document")

    def _refuse(self, problem: str) -> None:
        self.problem = self.problem or problem

    def _take(self, lines: list[str]) -> None:
        for line in lines:
            if "<" not in line and line.strip() and len(self.sentences) < MAX_SENTENCES:
                self.sentences.append(line[:MAX_CELL_CHARS])
        if not self._fed:
            lines = list(dropwhile(lambda line: not line.lstrip().startswith("<"), lines))
        if lines and self.problem is None and not self.is_whole:
            self._parse("\n".join((*map(_without_process_name, lines), "")))

    def _parse(self, text: str) -> None:
        text = _UNFIT.sub("\ufffd", text)
        try:
            self._parser.Parse(text)
        except (expat.ExpatError, XmlRefusedError) as error:
            if not self.is_whole:
                self._refuse(str(error))
        self._fed += len(text.encode())
        if self._fed - max(self._parser.CurrentByteIndex, 0) > MAX_TOKEN_CHARS:
            self._refuse(f"a tag of more than {MAX_TOKEN_CHARS} characters")

    def _on_doctype(self, _name: str, _id: str | None, _public: str | None, internal: bool) -> None:  # noqa: FBT001 - called by expat
        if internal:
            raise XmlRefusedError("a document that declares types of its own")

    def _on_entity(self, *_: object) -> None:
        raise XmlRefusedError("a document with entities")

    def _on_start(self, name: str, attributes: dict[str, str]) -> None:
        depth = len(self._path)
        if depth >= MAX_DEPTH:
            raise XmlRefusedError(f"elements nested deeper than {MAX_DEPTH}")
        if depth == 0 and name != ROOT:
            raise XmlRefusedError("not a document of nvidia-smi")
        self._path.append(name)
        self._text = ""
        if name in SKIPPED and self._skipped_depth is None:
            self._skipped_depth = depth
        if depth == 1 and name == "gpu":
            self._gpu = GpuElement(attributes.get("id", ""))
        elif name in REPEATED and self._gpu is not None:
            self._item = {}
        elif name == "processes" and self._gpu is not None:
            self._gpu.lists_processes = True

    def _on_text(self, text: str) -> None:
        if self._skipped_depth is None and len(self._text) < MAX_CELL_CHARS:
            self._text += text[:MAX_CELL_CHARS]

    def _on_end(self, name: str) -> None:
        depth = len(self._path) - 1
        if self._skipped_depth is not None:
            self._skipped_depth = None if depth == self._skipped_depth else self._skipped_depth
        elif depth == 1 and name == "gpu":
            self._end_gpu()
        elif name in REPEATED and self._gpu is not None and self._item is not None:
            getattr(self._gpu, REPEATED[name]).append(self._item)
            self._item = None
        else:
            self._keep_cell()
        self._path.pop()
        self._text = ""
        self.is_whole = depth == 0

    def _end_gpu(self) -> None:
        if self._gpu is not None:
            self.gpus.append(self._gpu)
            self._gpu = None
        if len(self.gpus) > MAX_GPUS:
            raise XmlRefusedError(f"more than {MAX_GPUS} GPUs")

    def _keep_cell(self) -> None:
        """Keep the text of an element, if it has any, under its path in its item, GPU or page."""
        text = self._text.strip()
        if not text:
            return
        self._cell_count += 1
        if self._cell_count > MAX_CELLS:
            raise XmlRefusedError(f"more than {MAX_CELLS} values")
        if self._item is not None:
            start = next(n for n, part in enumerate(self._path) if part in REPEATED) + 1
            self._item["/".join(self._path[start:])] = text
        elif self._gpu is not None:
            self._gpu.cells["/".join(self._path[2:])] = text
        else:
            self.cells["/".join(self._path[1:])] = text


def _without_process_name(line: str) -> str:
    return _NAME_OF_PROCESS.sub("", line) if "<process_name>" in line else line
