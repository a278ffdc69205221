"""Documents of nvidia-smi as tests write them."""

from exporter.collectors.gpu.smi.xml import SmiDocument

HEAD = '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n'


def gpu_xml(place: int = 0, **cells: str) -> str:
    """One GPU with these elements; a path is written `fb_memory_usage__total`."""
    said = {"uuid": f"GPU-{place}", "product_name": "NVIDIA H100", **cells}
    inside = "\n".join(_element(path.split("__"), text) for path, text in said.items())
    return f'<gpu id="00000000:0{place}:00.0">\n{inside}\n</gpu>\n'


def _element(path: list[str], text: str) -> str:
    if not path:
        return text
    return f"<{path[0]}>{_element(path[1:], text)}</{path[0]}>"


def log_xml(*gpus: str) -> str:
    """A whole document of these GPUs."""
    return (
        f"{HEAD}<nvidia_smi_log>\n<driver_version>550.1</driver_version>\n{''.join(gpus)}"
        "</nvidia_smi_log>\n"
    )


def read(text: str | bytes, chunk_bytes: int = 4096) -> SmiDocument:
    """The document of a text that comes in pieces."""
    data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    document = SmiDocument()
    for start in range(0, len(data), chunk_bytes):
        document.feed(data[start : start + chunk_bytes])
    document.close()
    return document
