"""Maintenance over HTTP: lists, adds and ends silences, and clears faults."""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

from aiohttp.web_request import BaseRequest

from exporter.faults.entities.silenced import names_of
from exporter.faults.rules.rule import Rule
from exporter.faults.silences import BadSilence
from exporter.faults.values import did_you_mean
from exporter.model.silence import Silence
from exporter.model.verdict import Conclusions, Key
from exporter.record import dataclass
from exporter.rule_runner import RuleRunner
from exporter.web.answer import Answer, NothingRead, ProgramStatus, json_answer
from exporter.web.server.local_client import refusal_of, refusal_of_user, user_of

MAX_BODY_BYTES = 4096
BODY_SECS = 5.0
CLEAR_KEYS = frozenset({"rule", "component"})


class BadChange(Exception):
    """A change that is not possible; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Maintenance:
    """Changes that programs on this machine may request.

    `wall` returns seconds since the epoch; `changed` wakes the evaluation of rules.
    """

    upkeep: RuleRunner
    program: ProgramStatus
    wall: Callable[[], float]
    changed: Callable[[], None]

    def list(self) -> Answer:
        """Answer with all silences."""
        rows = [silence_row(silence) for silence in self.upkeep.silences(self.wall())]
        return json_answer({"silences": rows})

    async def change(self, method: str, path: str, wanted: Mapping[str, Any]) -> Answer:
        """Apply the silence or clearing of a request (`wanted`: body or query); raise BadChange."""
        try:
            if path == "/clear":
                return await self._clear(wanted)
            if method == "POST":
                silence, is_kept = await self.upkeep.silence(
                    wanted, self._conclusions(), self.wall()
                )
            else:
                if set(wanted) != {"id"}:
                    raise BadChange("name the silence by ?id=ID")
                silence, is_kept = await self.upkeep.end_silence(wanted["id"], self.wall())
        except BadSilence as bad:
            raise BadChange(str(bad)) from bad
        self.changed()
        return json_answer({"silence": silence_row(silence), "kept": is_kept})

    async def _clear(self, wanted: Mapping[str, Any]) -> Answer:
        rule, component = wanted.get("rule"), wanted.get("component", "")
        if not wanted.keys() <= CLEAR_KEYS or not isinstance(rule, str):
            raise BadChange("give rule, and perhaps component, as texts")
        if not isinstance(component, str):
            raise BadChange("component must be a text")
        if "component" in wanted and not component.strip():
            raise BadChange("component is empty; without it the faults of all are cleared")
        keys = clearable(self.upkeep.rules, self._conclusions(), rule, component)
        clearing = asyncio.ensure_future(self.upkeep.clear(rule, keys, self.program.boottime()))
        await asyncio.sleep(0)  # so that the evaluation that is woken finds it
        self.changed()
        if still := await clearing:
            names = ", ".join(hw_id for _, hw_id in still)
            raise BadChange(f"{rule} of {names} goes on: what it reports is so now; silence it")
        return json_answer({"rule": rule, "cleared": [hw_id for _, hw_id in keys]})

    def _conclusions(self) -> Conclusions:
        snapshot = self.program.snapshot()
        if snapshot is None or snapshot.conclusions is None:
            raise NothingRead
        return snapshot.conclusions


def clearable(
    rules: Mapping[str, Rule], conclusions: Conclusions, rule: str, component: str
) -> tuple[Key, ...]:
    """Return the components with a fault of the rule that can be cleared; raise BadChange.

    A fault that joins those of several components stands for them.
    """
    if rule not in rules:
        raise BadChange(f"there is no rule {rule[:80]!r}; {did_you_mean(rule, rules)}")
    if not rules[rule].is_from_events:
        raise BadChange(f"{rule} ends when its evidence does; silence it instead")
    about = Silence("", 0.0, "", "", component=component)
    keys = tuple(
        fault.subject.key
        for fault in conclusions.active
        if fault.rule == rule
        and any(
            about.is_about(subject.hw_type, *names_of(subject))
            for subject in (
                fault.subject,
                *(cause.subject for cause in fault.causes if cause.rule == rule),
            )
        )
    )
    if not keys:
        where = f" of {component[:80]!r}" if component else ""
        raise BadChange(f"no fault {rule}{where} is active")
    return keys


def silence_row(silence: Silence) -> dict[str, Any]:
    """Return a silence as JSON; `null` stands for every rule or component."""
    return {
        "id": silence.id,
        "rule": silence.rule or None,
        "hw_type": silence.hw_type or None,
        "component": silence.component or None,
        "since": round(silence.since, 3),
        "until": round(silence.until, 3),
        "by": silence.by,
        "reason": silence.reason,
        "file": silence.file or None,
    }


def refusal_of_request(request: BaseRequest) -> str | None:
    """Return why a request is not from a program of root on this machine; None if it is."""
    hosts = request.headers.getall("Host", ())
    refusal = refusal_of(request.remote or "", request.raw_path, request.headers, hosts)
    if refusal is None:
        refusal = refusal_of_user(_user_of(request))
    if refusal is None and request.version.minor == 0:
        refusal = "this needs HTTP/1.1"  # an old proxy may send 1.0
    return refusal


async def wanted_of(request: BaseRequest) -> dict[str, object]:
    """Return the query of a DELETE, else the JSON object in the body; raise BadChange."""
    if request.method == "DELETE":
        return dict(request.rel_url.query)
    if (request.content_length or 0) > MAX_BODY_BYTES or request.rel_url.raw_query_string:
        raise BadChange(f"send a body of at most {MAX_BODY_BYTES} bytes, and no query")
    try:
        document = json.loads(await asyncio.wait_for(request.read(), BODY_SECS))
    except asyncio.TimeoutError:
        raise BadChange(f"the body did not arrive within {BODY_SECS:g} s") from None
    except (ValueError, RecursionError):
        raise BadChange("the body must be JSON") from None
    if not isinstance(document, dict):
        raise BadChange("the body must be a JSON object")
    return document


def _user_of(request: BaseRequest) -> int | None:
    """Return the user id of the client's socket; None if it is not on this machine."""
    if request.transport is None:
        return None
    ends = [request.transport.get_extra_info(name) for name in ("peername", "sockname")]
    return user_of(*(end[:2] for end in ends)) if all(ends) else None
