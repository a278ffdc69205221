"""Lines about the servers of network filesystems: NFS, Lustre, Ceph, SMB.

Layouts are those of net/sunrpc/clnt.c, fs/nfs, net/ceph, fs/ceph, fs/smb/client from 4.15 to 6.18
and of the Lustre client 2.10 to 2.16. Soft NFS mounts print "timed out" and never "OK".
"""

from exporter.collectors.kernel_log.patterns.pattern import (
    NODE,
    Chosen,
    Fields,
    LinePattern,
    Role,
    Subject,
    on_node,
    rx,
)

_NID = r"[\w.:@-]{1,80}"
_CEPH = r"(?: ?[(\[][^)\]]{1,80}[)\]]:?)? "


def _server(fields: Fields) -> Subject:
    """Return the server of a network filesystem."""
    return ("nfs_mount", fields["server"]) if "server" in fields else NODE


_NFS = (
    LinePattern(
        "nfs_not_responding",
        "not responding",
        rx(
            r"(?:nfs|lockd): server (?P<server>\S{1,255}) not responding, "
            r"(?P<state>still trying|timed out)"
        ),
        _server,
        chosen=(Chosen.SERVER,),
    ),
    LinePattern(
        "nfs_not_responding",
        ": server",
        rx(r"(?:nfs|lockd): server (?P<server>\S{1,255}) OK\s*$"),
        _server,
        role=Role.ENDED,
        chosen=(Chosen.SERVER,),
    ),
    LinePattern(
        "nfs_not_responding",
        "NFS: state manager",
        rx(
            r"NFS: state manager(?:: (?P<state>[a-z ]{1,40}))? failed on NFSv4 server "
            r"(?P<server>\S{1,255}) with error (?:5|10[01347]|11[0-3])\s*$"
        ),
        _server,
        chosen=(Chosen.SERVER,),
    ),
    LinePattern(
        "nfs_lock_reclaim",
        "Lock reclaim failed",
        rx(r"NFS: \w{1,40}: Lock reclaim failed"),
        lambda _fields: NODE,
    ),
)

_LUSTRE = (
    LinePattern(
        "lustre_not_responding",
        "Connection to ",
        rx(
            rf"Lustre: \S{{1,160}}: Connection to (?P<target>[\w.-]{{1,64}}) "
            rf"\(at (?P<server>{_NID})\) (?P<state>was lost)"
        ),
        on_node,
    ),
    LinePattern(
        "lustre_not_responding",
        "was evicted by",
        rx(
            r"Lustre(?:Error)?: (?:\w{1,6}-\w: )?\S{1,160}: This client (?P<state>was evicted) by "
            r"(?P<target>[\w.-]{1,64})"
        ),
        on_node,
    ),
    LinePattern(
        "lustre_not_responding",
        "Connection restored to",
        rx(rf"Lustre: \S{{1,160}}: Connection restored to \S{{0,80}} \(at (?P<server>{_NID})\)"),
        on_node,
        role=Role.ENDED,
    ),
)

_CEPH_ROWS = (
    LinePattern(
        "ceph_not_responding",
        "ceph",
        rx(
            rf"libceph:?{_CEPH}(?P<daemon>(?:mon|osd)\d{{1,6}})(?: (?P<server>\S{{1,80}}))? "
            r"(?P<state>session lost, hunting for new mon|down)\s*$"
        ),
        on_node,
    ),
    LinePattern(
        "ceph_not_responding",
        "ceph",
        rx(rf"ceph:?{_CEPH}(?P<daemon>mds\d{{1,6}}) (?P<state>hung|reconnect denied)\s*$"),
        on_node,
    ),
    LinePattern(
        "ceph_not_responding",
        "ceph",
        rx(
            rf"(?:lib)?ceph:?{_CEPH}(?P<daemon>(?:mon|mds|osd)\d{{1,6}})"
            r"(?: (?P<server>\S{1,80}))? "
            r"(?:session established|recovery completed|came back|reconnect success)\s*$"
        ),
        on_node,
        role=Role.ENDED,
    ),
    LinePattern(
        "ceph_not_responding",
        "libceph",
        rx(rf"libceph:?{_CEPH}(?P<daemon>osd\d{{1,6}}) up\s*$"),
        on_node,
        role=Role.ENDED,
    ),
)

_SMB = (
    LinePattern(
        "cifs_not_responding",
        "has not responded in",
        rx(
            r"CIFS:? VFS: (?:\\\\|Server )(?P<server>[^\s\\]{1,255}) has not responded in "
            r"(?P<seconds>\d{1,8}) seconds"
        ),
        on_node,
        chosen=(Chosen.SERVER,),
    ),
)

NETWORK_STORAGE: tuple[LinePattern, ...] = (*_NFS, *_LUSTRE, *_CEPH_ROWS, *_SMB)
