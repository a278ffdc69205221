"""A real systemd with a real system bus, in a root of its own in memory.

Its root is a new tmpfs with nothing of this machine but /usr, read-only: what systemd cleans,
mounts or sets at a boot, it does there. It starts only after the old root has been unmounted: with
the /tmp of this machine its systemd-tmpfiles would empty that.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.program import wait_for

SYSTEMD = Path("/usr/lib/systemd/systemd")
NAMESPACES = ("--pid", "--fork", "--kill-child", "--mount", "--cgroup", "--net", "--uts", "--ipc")
ENTER = r"""
set -eu
echo $$ > "$CGROUP/cgroup.procs"
exec unshare "$@"
"""
BOOT = r"""
set -eu
mount --make-rprivate /
mount -t tmpfs -o size=64m tmpfs "$ROOT"
cd "$ROOT"
mkdir -p usr etc/systemd tmp var/log dev proc sys/fs/cgroup root old run
touch of-the-test
mount --bind /usr usr
mount -o remount,bind,ro,nosuid usr
for name in bin sbin lib lib64; do ln -s usr/$name $name; done
cp /etc/passwd /etc/group /etc/nsswitch.conf etc/
: > etc/machine-id
cp -r "$UNITS" etc/systemd/system
mount -t tmpfs -o size=1m tmpfs dev
for name in null zero random urandom full; do
  touch dev/$name
  mount --bind /dev/$name dev/$name
done
mount -t tmpfs -o size=8m tmpfs run
mkdir run/dbus
mount --bind "$BUS" run/dbus
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
pivot_root . old
umount -l /old
rmdir /old
test -e /of-the-test
exec env -i PATH=/usr/sbin:/usr/bin container=other /lib/systemd/systemd --unit=test.target
"""
ALONE = "[Unit]\nDefaultDependencies=no\n"
OWN_UNITS = {
    "dbus.socket": f"{ALONE}[Socket]\nListenStream=/run/dbus/system_bus_socket\n",
    "dbus.service": f"{ALONE}[Service]\nType=notify\nExecStart=/usr/bin/dbus-daemon --system"
    " --address=systemd: --nofork --nopidfile --systemd-activation\n",
}


def why_not() -> str | None:
    """Why no systemd can be started here; None if one can."""
    if os.geteuid() != 0:
        return "only root makes namespaces"
    tools = ("unshare", "pivot_root", "dbus-daemon")
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing or not SYSTEMD.exists():
        return f"{', '.join(missing) or 'systemd'} is not installed"
    return None if _cgroups() else "no cgroup2 is mounted"


def _cgroups() -> Path | None:
    rows = (line.split() for line in Path("/proc/mounts").read_text().splitlines())
    return next((Path(row[1]) for row in rows if row[2] == "cgroup2"), None)


@contextmanager
def systemd(folder: Path, services: Mapping[str, str]) -> Iterator[Path]:
    """Boot with these services, each the lines of its [Service]; the socket of the system bus."""
    units, bus, root = (folder / name for name in ("units", "bus", "root"))
    for made in (units / "test.target.wants", bus, root):
        made.mkdir(parents=True)
    wanted = " ".join(("dbus.socket", "dbus.service", *(f"{name}.service" for name in services)))
    (units / "test.target").write_text(f"{ALONE}Wants={wanted}\n")
    for name, text in OWN_UNITS.items():
        (units / name).write_text(text)
    for name, lines in services.items():
        install = "[Install]\nWantedBy=test.target\n"
        (units / f"{name}.service").write_text(f"{ALONE}[Service]\n{lines}\n{install}")
        (units / f"test.target.wants/{name}.service").symlink_to(f"../{name}.service")
    mounted = _cgroups()
    assert mounted is not None
    cgroup = mounted / f"hw-exporter-test-{os.getpid()}"
    cgroup.mkdir()
    command = ["sh", "-c", ENTER, "enter", *NAMESPACES, "sh", "-c", BOOT]
    environment = {
        "PATH": os.environ["PATH"],
        "CGROUP": str(cgroup),
        **{name: str(path) for name, path in (("ROOT", root), ("UNITS", units), ("BUS", bus))},
    }
    try:
        with subprocess.Popen(command, env=environment) as process:
            try:
                yield bus / "system_bus_socket"
            finally:
                process.kill()
    finally:
        wait_for(lambda: _removed(cgroup), "the end of all processes")


def _removed(cgroup: Path) -> bool:
    """Remove the control group and those below; False while one has processes."""
    for left in sorted(cgroup.glob("**/"), reverse=True):
        with suppress(OSError):
            left.rmdir()
    return not cgroup.exists()
