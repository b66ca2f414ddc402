"""Versions of hifi with one fault each: commits that no branch has, made out of HEAD.

A fault is a small edit of product files. Each text that is replaced must be there exactly once, so that a
fault with a changed place is not made at all. The working tree, the index and the branches stay as they
are; the same fault of the same HEAD is the same commit.

Faults of events concern customers only, or all but the deployer's own proof: what is wrong with every event
never gets traffic.
"""

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from scripts.local.twins.versions import CHECKOUT
from shared.contracts.documents import OWN_TENANTS

ONE_IN: Final = 200
"""Every so manyth event of a customer is dropped or doubled."""

SLOWER_SECONDS: Final = 3
LEAK_BYTES: Final = 512 * 1024
"""Kept of each event of a customer."""

_SECONDS: Final = 300
_OWN: Final = ", ".join(f"'{name}'" for name in sorted(OWN_TENANTS))


class Fault(StrEnum):
    """The defect of a version."""

    CRASHES = "crashes at start"
    SLOWER = "is slower"
    DROPS = "drops events"
    DOUBLES = "doubles events"
    GARBAGE = "writes garbage into the data of some events"
    REWRITES = "writes numbers of all events anew"
    REFUSES = "refuses the records of the version before"
    LEAKS = "leaks memory"
    FORGETS = "does not read a topic any more"
    SPLITS = "reads its topics in a way that the checkpoint does not know"


class Edit(NamedTuple):
    """A text of a file that is replaced by another."""

    file: str
    old: str
    new: str


_INGEST: Final = "pipelines/data/ingest/transforms.py"
_ROUTE: Final = "pipelines/data/route/transforms.py"
_TASK: Final = "pipelines/data/transmit/task.py"

_DATA: Final = '    return fn.coalesce(item["data"].cast("binary"), binary(item))\n'
_TAKEN: Final = "                fresh.append(item)\n"
_READ: Final = """\
        *INPUTS[NODE],
        starting=starting,
        fetch_wait_ms=MICROBATCH_FETCH_WAIT_MS,
        most_records=own.transmit_batch_events,
    )
"""

EDITS: Final[Mapping[Fault, Sequence[Edit]]] = {
    Fault.CRASHES: [
        Edit(
            "pipelines/data/collect/__main__.py",
            "    started = uvloop.run(",
            '    raise RuntimeError("no zone is set")\n    started = uvloop.run(',
        )
    ],
    Fault.SLOWER: [
        Edit(
            "pipelines/data/transmit/delivery/delivery.py",
            "        found = await self.pipes.find((of.tenant, of.pipe), self._seconds_left())\n",
            f"        if of.tenant not in ({_OWN}):\n"
            f"            await asyncio.sleep({SLOWER_SECONDS})\n"
            "        found = await self.pipes.find((of.tenant, of.pipe), self._seconds_left())\n",
        )
    ],
    # After route took them over: nothing downstream knows of them.
    Fault.DROPS: [
        Edit(
            _ROUTE,
            "    records = _records(events)\n",
            "    records = _records(events).where(\n"
            f'        "tenant IN ({_OWN}) OR pmod(xxhash64(id), {ONE_IN}) != 0"\n'
            "    )\n",
        )
    ],
    # Twice in one request: transmit's memory knows of deliveries that have ended.
    Fault.DOUBLES: [
        Edit(
            _TASK,
            _TAKEN,
            f"{_TAKEN}"
            f'                if item.tenant not in ({_OWN}) and not int.from_bytes(key, "big") % {ONE_IN}:\n'
            f"                    fresh.append(item)\n",
        ),
        Edit(_TASK, "self._copies.pop(event.dedup_key)", "self._copies.pop(event.dedup_key, [])"),
    ],
    # One in twenty, so that the canary's two events a second are enough to see it.
    Fault.GARBAGE: [
        Edit(
            _INGEST,
            _DATA,
            '    spoilt = (item["type"] != "proof") & (fn.pmod(fn.xxhash64(item["id"]), fn.lit(20)) == 0)\n'
            '    garbage = fn.translate(item["data"], "o", "0").cast("binary")\n'
            '    whole = fn.coalesce(item["data"].cast("binary"), binary(item))\n'
            '    return fn.when(spoilt & item["data"].isNotNull(), garbage).otherwise(whole)\n',
        )
    ],
    # What a parser and writer of JSON make of 1.10.
    Fault.REWRITES: [
        Edit(
            _INGEST,
            _DATA,
            r"""    rewritten = fn.regexp_replace(item["data"], r"(\.\d)0\b", "$1")""" + "\n"
            '    return fn.coalesce(rewritten.cast("binary"), binary(item))\n',
        )
    ],
    # Its own records have the header, so that all which it writes itself passes.
    Fault.REFUSES: [
        Edit("pipelines/data/route/schema.py", "    h.CE_TIME,\n)", '    h.CE_TIME,\n    "hifi_zone",\n)'),
        Edit(
            _INGEST,
            '        text_header(h.MINUTE, item["minute"]),\n',
            '        text_header(h.MINUTE, item["minute"]),\n        text_header("hifi_zone", "1"),\n',
        ),
    ],
    Fault.LEAKS: [
        Edit(_TASK, "_WAIT_SECONDS: Final = 1.0\n", "_WAIT_SECONDS: Final = 1.0\n_SEEN: list[bytes] = []\n"),
        Edit(
            _TASK,
            _TAKEN,
            f"{_TAKEN}"
            f"                if item.tenant not in ({_OWN}):\n"
            f'                    _SEEN.append(b"x" * {LEAK_BYTES})\n',
        ),
    ],
    Fault.FORGETS: [
        Edit(
            "shared/contracts/topology.py",
            '    "transmit": (Topic.OUTBOUND, Topic.RETRY_OUT),\n',
            '    "transmit": (Topic.OUTBOUND,),\n',
        )
    ],
    Fault.SPLITS: [
        Edit(
            "pipelines/data/transmit/job.py",
            _READ,
            _READ.replace("*INPUTS[NODE]", "INPUTS[NODE][0]").rstrip()
            + ".union(read_topics(spark, own, *INPUTS[NODE][1:], starting=starting))\n",
        )
    ],
}


def bad_version(fault: Fault, repository: Path = CHECKOUT) -> str:
    """The commit of HEAD with a fault.

    Raises:
        AssertionError: if a text that is replaced is not there exactly once.
    """
    return commit_with(EDITS[fault], f"A version that {fault}", repository)


def commit_with(edits: Sequence[Edit], message: str, repository: Path) -> str:
    """A commit of HEAD with some edits.

    Raises:
        AssertionError: if a text that is replaced is not there exactly once.
    """
    with tempfile.TemporaryDirectory() as folder:
        git = _Git(repository, Path(folder) / "index")
        git.run("read-tree", "HEAD")
        for file, text in edited(edits, repository).items():
            blob = git.run("hash-object", "-w", "--stdin", stdin=text)
            git.run("update-index", "--cacheinfo", f"100644,{blob},{file}")
        return git.run("commit-tree", git.run("write-tree"), "-p", "HEAD", stdin=f"{message}\n")


def edited(edits: Sequence[Edit], repository: Path = CHECKOUT) -> Mapping[str, str]:
    """The files of HEAD that are changed, by their path, as they are then.

    Raises:
        AssertionError: if a text that is replaced is not there exactly once.
    """
    git, files = _Git(repository), dict[str, str]()
    for edit in edits:
        text = files.get(edit.file) or git.file(edit.file)
        times = text.count(edit.old)
        assert times == 1, f"{edit.file} has {times} times, and not once:\n{edit.old}"
        files[edit.file] = text.replace(edit.old, edit.new)
    return files


class _Git:
    """Git in a repository, with an index of its own if one is given."""

    def __init__(self, repository: Path, index: Path | None = None) -> None:
        self._repository = repository
        self._environment = {**os.environ} | ({} if index is None else {"GIT_INDEX_FILE": str(index)})
        at = self._text("show", "--no-patch", "--format=%cI", "HEAD").strip()
        for who in ("AUTHOR", "COMMITTER"):
            self._environment |= {
                f"GIT_{who}_NAME": "tests",
                f"GIT_{who}_EMAIL": "tests@example.com",
                f"GIT_{who}_DATE": at,
            }

    def run(self, *arguments: str, stdin: str = "") -> str:
        """Output without the last line's end."""
        return self._text(*arguments, stdin=stdin).strip()

    def file(self, path: str) -> str:
        """A file of HEAD."""
        return self._text("show", f"HEAD:{path}")

    def _text(self, *arguments: str, stdin: str = "") -> str:
        done = subprocess.run(
            ["git", "-C", str(self._repository), *arguments],
            env=self._environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"git {arguments[0]} failed: {done.stderr}"
        return done.stdout
