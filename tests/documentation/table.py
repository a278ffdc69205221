"""Every command of the pages: how it is tried here, or why it is not."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from tests.program import ROOT


class Place(Enum):
    """Where a command is tried, in a folder of its own."""

    DEMO = "beside a simulated node on which GPU 5 has fallen off the bus"
    NODE = "beside an exporter of this machine"
    ALONE = "beside what the same block has started before"


@dataclass(frozen=True, slots=True)
class Try:
    """How a command is tried, and patterns that its output must match beside what is shown.

    What `stays` is started, asked for its health, and ended with the block.
    """

    place: Place = Place.ALONE
    output: tuple[str, ...] = ()
    code: int = 0
    stays: bool = False


PLACEHOLDERS: Mapping[str, str] = {
    "localhost:8080": "localhost:{port}",
    "/opt/probes/": "{folder}/",
    ".venv/bin/": "",
    "hw-exporter selfcheck": "hw-exporter selfcheck http://localhost:{port}",
    "hw-exporter expect": "APP__EXPECT__LEARN=1 APP__STATE__DIR={folder} hw-exporter expect",
    "hw-exporter silence": "hw-exporter silence --url localhost:{port}",
    "hw-exporter clear": "hw-exporter clear --url localhost:{port}",
    "/opt/hw-exporter/bin/": "",
    "/etc/hw-exporter": "{folder}/etc",
    "MOUNTPOINT": "/",
    "tests/corpus/": f"{ROOT}/tests/corpus/",
    "show IF": "show lo",
    "pid=PID": "pid=41000",
    "/proc/PID/": "/proc/self/",
}
"""What is put in place of words of the pages; every other word is run as it is written."""

FILES: Mapping[str, Mapping[str, str]] = {
    "docs/faults.md": {"my.toml": "toml", "incident.jsonl": "json"},
    "docs/probes.md": {"probes.toml": "toml", "npu.py": "python"},
    "docs/upgrade.md": {"config.toml": "toml"},
}
"""Files that a page lets its reader write, and the language of the block that holds them."""

ONE_RECORDING = (
    r"""xz -dc tests/corpus/benchmark-1.jsonl.xz | awk '/^\{"recording": /"""
    r"""{on = /"recording": "no_spare_rows_are_left"/; next} on' > one.jsonl"""
)
INSTALLED = "/opt/hw-exporter/bin/hw-exporter"

TRIED: Mapping[str, Mapping[str, Try]] = {
    "README.md": {
        ".venv/bin/hw-exporter": Try(stays=True),
        "curl -s localhost:8080/metrics | grep -v '^#'": Try(Place.DEMO),
        "curl -s 'localhost:8080/why?format=text'": Try(Place.DEMO),
        "curl -s localhost:8080/node": Try(Place.DEMO),
        "APP__SERVER__PORT=99999 hw-exporter --check-config": Try(code=2),
        "echo $?": Try(),
    },
    "docs/HTTP.md": {
        "curl -s -X POST localhost:8080/-/quiesce": Try(Place.NODE, (r'^{"status": "ok"}$',)),
        "curl -s -X POST localhost:8080/-/resume": Try(Place.NODE, (r'^{"status": "ok"}$',)),
    },
    "docs/cli.md": {
        "hw-exporter status --url localhost:8080": Try(Place.DEMO, ("^1 critical: ",)),
        "hw-exporter faults --url localhost:8080": Try(Place.DEMO, ("^CRITICAL ",), code=2),
        "hw-exporter bundle --url localhost:8080 --for 5s --output case.tar.gz": Try(
            Place.DEMO, ("^wrote case.tar.gz ",)
        ),
        "hw-exporter rules replay case.tar.gz": Try(output=(" critical gpu_lost of ",)),
        "hw-exporter faults --url localhost:8080 > /dev/null; [ $? -ne 2 ]": Try(
            Place.DEMO, code=1
        ),
    },
    "docs/benchmark.md": {ONE_RECORDING: Try(), "hw-exporter rules replay one.jsonl": Try()},
    "docs/demo.md": {
        "hw-exporter demo --gpus 8 --speed 10": Try(stays=True),
        "hw-exporter demo --healthy": Try(stays=True),
    },
    "docs/expect.md": {
        "hw-exporter expect": Try(output=("^nothing is missing",)),
        "hw-exporter expect accept": Try(output=("^the exporter learns",)),
    },
    "docs/maintenance.md": {
        'hw-exporter silence --component nvme1n1 --for 2h --reason "swap the disk"': Try(
            Place.DEMO, ("^silenced: ",)
        ),
        "hw-exporter silence --list": Try(Place.DEMO),
        "hw-exporter silence --end 1": Try(Place.DEMO, ("^ended: ",)),
        "hw-exporter clear gpu_xid_critical --component gpu3": Try(Place.DEMO, code=2),
    },
    "docs/faults.md": {
        "hw-exporter rules check my.toml": Try(),
        "hw-exporter rules replay incident.jsonl --rules my.toml": Try(),
        "hw-exporter rules replay incident.jsonl --rules my.toml --json": Try(),
    },
    "docs/kubernetes.md": {
        "curl -s --retry 5 --retry-connrefused localhost:8080/ready": Try(
            Place.NODE, ('^{"status": "ready",',)
        ),
    },
    "docs/probes.md": {
        "timeout 3 /opt/probes/npu.py": Try(output=('^{"metric": "hw_npu_',), code=124),
        "hw-exporter --check-config --config probes.toml": Try(output=("is valid",)),
        "hw-exporter --config probes.toml &": Try(stays=True),
        "curl -s localhost:8080/metrics | grep -E '^hw_(npu|exporter_probe)_'": Try(
            output=(
                r'^hw_npu_temperature_celsius{node="[^"]+"} 61$',
                r'^hw_exporter_probe_up{node="[^"]+",probe="npu"} 1$',
            )
        ),
    },
    "docs/runbooks/expect.md": {"hw-exporter expect": Try()},
    "docs/runbooks/exporter.md": {
        "hw-exporter selfcheck": Try(Place.NODE, ("^PASS health$",)),
        "curl -s localhost:8080/ready": Try(Place.NODE, ('"status": "ready"',)),
        "curl -s localhost:8080/metrics | grep hw_exporter_source_outcome": Try(
            Place.NODE, (r'source="cpu",outcome="ok"} 1',)
        ),
    },
    "docs/runbooks/filesystem.md": {
        "findmnt MOUNTPOINT": Try(output=("^TARGET",)),
        "df -h MOUNTPOINT": Try(output=("Mounted on",)),
        "df -i MOUNTPOINT": Try(output=("IFree",)),
    },
    "docs/runbooks/gpu_presence.md": {
        "curl -s -X POST localhost:8080/-/quiesce": Try(Place.NODE, ('"status": "ok"',)),
        "curl -s -X POST localhost:8080/-/resume": Try(Place.NODE, ('"status": "ok"',)),
    },
    "docs/runbooks/network.md": {
        "ip -s link show IF": Try(output=("RX:",)),
        "nstat -az TcpRetransSegs TcpExtListenOverflows TcpExtListenDrops": Try(
            output=("TcpExtListenDrops",)
        ),
    },
    "docs/runbooks/collectives.md": {"cat /proc/PID/wchan": Try()},
    "docs/runbooks/node.md": {
        "ps -eo pid,stat,wchan:32,args | awk '$2 ~ /^D/'": Try(),
    },
    "docs/runbooks/workload.md": {
        "curl -s localhost:8080/processes": Try(Place.DEMO, ('"pod": "llama-train-0"',)),
        "curl -s 'localhost:8080/why?pid=PID'": Try(Place.DEMO, ('"hw_id": "41000"',)),
        "cat /proc/PID/wchan": Try(),
    },
    "docs/systemd.md": {
        "mkdir -p /etc/hw-exporter": Try(),
        "touch /etc/hw-exporter/config.toml": Try(),
        f"{INSTALLED} --check-config --config /etc/hw-exporter/config.toml": Try(
            output=("is valid",)
        ),
        f"{INSTALLED} selfcheck": Try(Place.NODE, ("^PASS ready$",)),
    },
    "docs/troubleshooting.md": {
        "curl -s localhost:8080/metrics | grep -E '^hw_gpu_(backend|problem)_info'": Try(
            Place.DEMO, (r'backend_info{.*reason="ok"', r'problem_info{.*reason="gpu_lost"')
        ),
        "curl -s localhost:8080/node | python3 -m json.tool | grep -A 40 '\"sources\"'": Try(
            Place.DEMO, ('"outcome": "ok"', '"missing":')
        ),
    },
    "docs/upgrade.md": {
        "hw-exporter --version": Try(output=(r"^hw-exporter \d",)),
        "hw-exporter --check-config --config config.toml": Try(output=("is valid",)),
        "hw-exporter assets hw-exporter-assets": Try(),
        "curl -s localhost:8080/metrics | grep hw_exporter_build_info": Try(
            Place.NODE, (r'version="\d',)
        ),
        "curl -s localhost:8080/ready": Try(Place.NODE, ('"status": "ready"',)),
        "hw-exporter selfcheck": Try(Place.NODE, ("^PASS ready$",)),
    },
}

INSTALLS = "installs packages into an environment"
SERVICE = "installs a service into this machine"
CLUSTER = "needs a cluster"
REGISTRY = "needs a container engine and a registry"
TESTS = "runs the tests themselves"
KERNEL = "writes to the kernel log of this machine"
PASSWORD = "asks for a password"
SICK = "looks at hardware or a kernel log that a machine for tests does not have"
WALKS = "walks over a whole filesystem"
STAYS = "takes port 8080; what it starts is tried without make"

MORE = "…"

NOT_TRIED: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "README.md": {
        INSTALLS: ("python3 -m venv .venv", ".venv/bin/pip install ."),
        STAYS: ("make run",),
        TESTS: ("make test",),
    },
    "CONTRIBUTING.md": {TESTS: (".venv/bin/python -m pytest -q tests/web",)},
    "docs/demo.md": {STAYS: ("make demo",), REGISTRY: ("docker compose …",)},
    "docs/kernel-log.md": {
        KERNEL: (
            "APP__KERNEL_LOG__ACCEPT_USER_RECORDS=true hw-exporter &",
            "echo '<3>NVRM: Xid …",
            "curl -s localhost:8080/metrics | grep 'fault=\"gpu_lost\"'",
        )
    },
    "docs/kubernetes.md": {
        CLUSTER: ("kubectl …", "helm …"),
        REGISTRY: ("make image", "docker …"),
    },
    "docs/platforms.md": {REGISTRY: ("docker run …",), CLUSTER: ("oc …",)},
    "docs/runbooks/cpu.md": {SICK: ("dmesg …", "ras-mc-ctl …", "ipmitool …")},
    "docs/runbooks/expect.md": {SICK: ("lspci …", "lsblk …", "dmidecode …")},
    "docs/runbooks/filesystem.md": {SICK: ("dmesg …",), WALKS: ("du …",)},
    "docs/runbooks/gpu_errors.md": {
        SICK: ("dmesg …", "nvidia-smi …", "dcgmi …", "nvidia-bug-report.sh")
    },
    "docs/runbooks/gpu_heat.md": {SICK: ("nvidia-smi …", "ipmitool …")},
    "docs/runbooks/gpu_links.md": {SICK: ("nvidia-smi …", "lspci …", "systemctl …")},
    "docs/runbooks/gpu_memory.md": {SICK: ("nvidia-smi …", "dmesg …", "dcgmi …")},
    "docs/runbooks/gpu_presence.md": {SICK: ("nvidia-smi …", "lspci …", "dmesg …", "fuser …")},
    "docs/runbooks/imex.md": {
        SICK: ("nvidia-imex-ctl …", "systemctl …", "journalctl …", "cat /etc/nvidia-imex/…")
    },
    "docs/runbooks/infiniband.md": {SICK: ("ibstat …", "rdma …", "perfquery …", "ethtool …")},
    "docs/runbooks/memory.md": {SICK: ("dmesg …", "ras-mc-ctl …", "dmidecode …", "ipmitool …")},
    "docs/runbooks/network.md": {SICK: ("ethtool …",)},
    "docs/runbooks/node.md": {SICK: ("dmesg …", "chronyc …", "sensors", "ipmitool …")},
    "docs/runbooks/pcie.md": {SICK: ("lspci …", "dmesg …")},
    "docs/runbooks/services.md": {SICK: ("journalctl …", "systemctl …")},
    "docs/runbooks/raid.md": {SICK: ("storcli …",)},
    "docs/runbooks/storage.md": {SICK: ("dmesg …", "nvme …", "smartctl …", "cat /proc/mdstat")},
    "docs/runbooks/collectives.md": {SICK: ("py-spy …",)},
    "docs/security.md": {PASSWORD: ("python3 -c 'import bcrypt, getpass; …",)},
    "docs/systemd.md": {
        SERVICE: (
            "/usr/bin/python3 -m venv /opt/hw-exporter",
            "/opt/hw-exporter/bin/pip install '.[auth]'",
            "install -D -m 644 deploy/systemd/sysusers.conf /etc/sysusers.d/hw-exporter.conf",
            "systemd-sysusers",
            "install -m 644 deploy/systemd/hw-exporter.service /etc/systemd/system/",
            "systemctl daemon-reload",
            "systemctl enable --now hw-exporter",
        )
    },
}
"""By page and reason; an entry that ends with … stands for every command that begins so."""
