"""Reads a recording: a file of lines, or the archive of `hw-exporter bundle`."""

import io
import tarfile
import zlib

from exporter.regular_file import FileUnusable, read_regular

MAX_RECORDING_BYTES = 256 * 1024 * 1024
GZIP = b"\x1f\x8b"
RECORDING = "recording.jsonl"


def recording_in(name: str) -> str:
    """Return the text of the recording; raise FileUnusable."""
    content = read_regular(name, MAX_RECORDING_BYTES)
    if content.startswith(GZIP):
        content = _unpacked(content)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileUnusable(f"is not UTF-8 text (byte {error.start})") from error


def _unpacked(archive: bytes) -> bytes:
    """Return the recording in an archive; members before it are passed over, bounded in size."""
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r|gz") as members:
            left = MAX_RECORDING_BYTES
            for member in members:
                left -= member.size
                if left < 0:
                    raise FileUnusable(f"holds more than {MAX_RECORDING_BYTES} bytes")
                found = members.extractfile(member) if member.isfile() else None
                if found is not None and member.name.rpartition("/")[2] == RECORDING:
                    return found.read(MAX_RECORDING_BYTES)
    except (tarfile.TarError, EOFError, OSError, zlib.error, ValueError) as error:
        raise FileUnusable("is no archive of `hw-exporter bundle`") from error
    raise FileUnusable(f"is an archive without {RECORDING}")
