"""The endpoint `/runbooks/RULE`: pages of docs/runbooks/ that are in the package."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path

from exporter.record import dataclass
from exporter.web.answer import Answer, PageRequest, error_answer, json_answer, text_answer
from exporter.web.negotiation import Form, wanted_form
from exporter.web.parameters import parameters

PREFIX = "/runbooks/"
FOLDER = Path(__file__).resolve().parent.parent / "runbooks"


@dataclass(frozen=True, slots=True)
class Runbook:
    """The runbook of one rule; `commands` are the manual commands of the whole page."""

    rule: str
    title: str
    text: str
    commands: str

    def markdown(self) -> str:
        """Return the runbook as text."""
        by_hand = f"\n{self.commands}\n" if self.commands else ""
        return f"# {self.rule}\n\n{self.text}\n{by_hand}"


@lru_cache(maxsize=1)
def runbooks() -> Mapping[str, Runbook]:
    """Read all runbooks, by rule; about 60 kB, cached from the first request on."""
    return {
        book.rule: book
        for path in sorted(FOLDER.glob("*.md"))
        for book in _of_page(path.read_text("utf-8"))
    }


def _of_page(text: str) -> Iterator[Runbook]:
    head, *sections = text.split("\n## ")
    title, _, by_hand = head.partition("\n")
    for section in sections:
        rule, _, body = section.partition("\n")
        name = title.removeprefix("# Runbook: ").strip()
        yield Runbook(rule.strip(), name, body.strip(), by_hand.strip())


def runbook_answer(request: PageRequest) -> Answer:
    """Answer with one runbook, or with the list of all; raises MalformedQuery."""
    form = wanted_form(parameters(request.query, ("format",)), request.accept, Form.TEXT)
    rule = request.path.removeprefix(PREFIX)
    if not rule:
        return _list(form)
    book = runbooks().get(rule)
    if book is None:
        return error_answer(404, f"there is no runbook of that name; {PREFIX} lists all")
    if form is Form.JSON:
        return json_answer(asdict(book))
    if form is Form.HTML:
        from exporter.web.html.pages import runbook_page  # noqa: PLC0415 - only a browser needs it

        return runbook_page(book.rule, book.title, book.text, book.commands)
    return text_answer(book.markdown())


def _list(form: Form) -> Answer:
    if form is Form.JSON:
        return json_answer({"runbooks": list(runbooks())})
    if form is Form.HTML:
        from exporter.web.html.pages import runbooks_page  # noqa: PLC0415 - only a browser needs it

        return runbooks_page({book.rule: book.title for book in runbooks().values()})
    return text_answer("".join(f"{rule}\n" for rule in runbooks()))
