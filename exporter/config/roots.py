"""The root directories of the node's files: under /host if mounted there in a container."""

import os
from collections.abc import Callable, Iterator

from exporter.config import Sources
from exporter.record import replace

MOUNTED = "/host"
SIGNS = {"proc_root": "stat", "sys_root": "devices", "host_root": ""}
"""What every such directory holds, by the key of the root."""
PROC_SIGN = f"/host/proc/{SIGNS['proc_root']}"
SYS_SIGN = f"/host/sys/{SIGNS['sys_root']}"
ROOT_SIGNS = ("/host/etc", "/host/usr", "/host/var")


def resolved(sources: Sources, exists: Callable[[str], bool] = os.path.exists) -> Sources:
    """Replace each default root by the one under /host if that is mounted.

    A configured other root stays; `/proc/.` forces our own /proc.
    """
    takes_proc = sources.proc_root == "/proc" and exists(PROC_SIGN)
    takes_sys = sources.sys_root == "/sys" and exists(SYS_SIGN)
    takes_root = sources.host_root == "/" and any(map(exists, ROOT_SIGNS))
    return replace(
        sources,
        proc_root=f"{MOUNTED}/proc" if takes_proc else sources.proc_root,
        sys_root=f"{MOUNTED}/sys" if takes_sys else sources.sys_root,
        host_root=MOUNTED if takes_root else sources.host_root,
    )


def mistakes(sources: Sources, exists: Callable[[str], bool] = os.path.exists) -> Iterator[str]:
    """Yield a sentence for each configured root that is no directory, or an empty one.

    Its files would be absent, as those of hardware that a node does not have, and the node healthy.
    """
    usual = Sources()
    for key, sign in SIGNS.items():
        root = getattr(sources, key)
        if root != getattr(usual, key) and not (root.startswith("/") and exists(f"{root}/{sign}")):
            wanted = f"a directory that holds `{sign}`" if sign else "a directory"
            yield f'sources.{key} is "{root}", but must be the absolute path of {wanted}'
