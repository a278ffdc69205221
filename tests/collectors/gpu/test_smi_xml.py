"""Documents of nvidia-smi while they come: whole, broken, hostile, endless."""

import tracemalloc

import pytest

from exporter.collectors.gpu.smi.xml import MAX_DEPTH, MAX_GPUS, MAX_TOKEN_CHARS, SmiDocument
from tests.collectors.gpu.smi_documents import HEAD, gpu_xml, log_xml, read

WHOLE = log_xml(gpu_xml(0, fb_memory_usage__total="80 MiB"), gpu_xml(1, serial="x"))


@pytest.mark.parametrize("chunk_bytes", [1, 7, 4096])
def test_it_may_come_in_pieces(chunk_bytes: int) -> None:
    """Wherever a piece ends, the same is read."""
    document = read(WHOLE, chunk_bytes)
    assert (document.is_whole, document.problem) == (True, None)
    assert document.cells == {"driver_version": "550.1"}
    assert [gpu.cells["uuid"] for gpu in document.gpus] == ["GPU-0", "GPU-1"]
    assert document.gpus[0].cells["fb_memory_usage/total"] == "80 MiB"
    assert document.gpus[1].bus_id == "00000000:01:00.0"


def test_processes_and_mig_devices_are_kept_apart() -> None:
    """Each has its own elements, whatever they are called outside of it."""
    text = gpu_xml(
        0,
        mig_devices="<mig_device><index>0</index><fb_memory_usage><total>1 MiB</total>"
        "</fb_memory_usage></mig_device><mig_device><index>1</index></mig_device>",
        processes="<process_info><pid>7</pid><type>C</type></process_info>",
    )
    (gpu,) = read(log_xml(text)).gpus
    assert gpu.mig_devices == [{"index": "0", "fb_memory_usage/total": "1 MiB"}, {"index": "1"}]
    assert gpu.processes == [{"pid": "7", "type": "C"}]
    assert "index" not in gpu.cells


def test_a_document_cut_anywhere_has_whole_gpus_only() -> None:
    """Half a GPU is none; what is not whole says so."""
    gpus = read(WHOLE).gpus
    for end in range(len(WHOLE) - len("</nvidia_smi_log>\n")):
        document = read(WHOLE[:end])
        assert document.gpus == gpus[: len(document.gpus)]
        assert not document.is_whole
        assert document.problem


REFUSED = {
    "entity": '<!DOCTYPE nvidia_smi_log [<!ENTITY a "ha">]><nvidia_smi_log>&a;</nvidia_smi_log>',
    "bomb": '<!DOCTYPE nvidia_smi_log [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><nvidia_smi_log/>',
    "undeclared entity": f"{HEAD}<nvidia_smi_log>&evil;</nvidia_smi_log>",
    "deep": f"{HEAD}<nvidia_smi_log>{'<a>' * 100_000}",
    "deep to the edge": f"{HEAD}<nvidia_smi_log>{'<a>' * MAX_DEPTH}",
    "another root": "<html><body/></html>",
    "wide": f"{HEAD}<nvidia_smi_log>{'<a>1</a>' * 300_000}",
    "many GPUs": log_xml(*["<gpu></gpu>\n"] * (MAX_GPUS + 1)),
    "a tag without end": f"{HEAD}<nvidia_smi_log>\n<{'a' * 2 * MAX_TOKEN_CHARS}",
    "an attribute without end": HEAD + '<nvidia_smi_log>\n<gpu id="' + "a\n" * 2 * MAX_TOKEN_CHARS,
    "not balanced": f"{HEAD}<nvidia_smi_log><gpu></nvidia_smi_log>",
    "JSON": "[" * 100_000,
    "a sentence": "No devices were found\n",
    "nothing": "",
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_what_is_no_document_of_nvidia_smi_is_refused(text: str) -> None:
    """With one sentence, and without a GPU that would be half or invented."""
    document = read(text, 65536)
    assert document.problem
    assert not document.is_whole
    assert len(document.gpus) <= MAX_GPUS + 1


def test_a_dtd_elsewhere_is_not_fetched() -> None:
    """Every document names one; it is not looked at."""
    text = '<!DOCTYPE nvidia_smi_log SYSTEM "http://192.0.2.1/evil.dtd">\n<nvidia_smi_log/>\n'
    assert read(text).is_whole


def test_two_hundred_megabytes_are_read_in_bounded_memory() -> None:
    """Values of one GPU without end: refused early, the rest is passed over."""
    line = b"<a>1</a>\n" * 7000
    document = SmiDocument()
    document.feed(f"{HEAD}<nvidia_smi_log>\n<gpu>\n".encode())
    tracemalloc.start()
    try:
        for _ in range(200 * 1024 * 1024 // len(line)):
            document.feed(line)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert document.problem
    assert peak < 8 * 1024 * 1024


def test_what_a_user_calls_a_program_breaks_and_fakes_nothing() -> None:
    """A name may hold tags, entities and any bytes: it is not read at all."""
    names = [
        "</process_name></process_info></processes></gpu><gpu id='evil'><uuid>GPU-9</uuid>",
        "a < b && c > d",
        "\udcff\udcfe\x01",
        "<!ENTITY a 'b'>",
    ]
    inside = "\n".join(
        f"<process_info>\n<pid>{place + 1}</pid>\n<process_name>{name}</process_name>\n"
        "</process_info>"
        for place, name in enumerate(names)
    )
    document = read(log_xml(gpu_xml(0, processes=f"\n{inside}\n"), gpu_xml(1)))
    assert document.is_whole
    assert [gpu.cells["uuid"] for gpu in document.gpus] == ["GPU-0", "GPU-1"]
    assert [cells["pid"] for cells in document.gpus[0].processes] == ["1", "2", "3", "4"]


def test_bytes_that_are_no_text_are_replaced() -> None:
    """Neither bad UTF-8 nor control characters cost the document."""
    data = log_xml(gpu_xml(0, serial="@")).encode().replace(b"@", b"A\xff\x01\xc3")
    (gpu,) = read(data, 3).gpus
    assert gpu.cells["serial"] == "A\ufffd\ufffd\ufffd"


def test_sentences_around_it_are_kept() -> None:
    """Warnings before and after the document are told apart from it."""
    text = f"WARNING: one\n{WHOLE}WARNING: infoROM is corrupted at gpu 0000:01:00.0\n"
    document = read(text)
    assert document.is_whole
    assert document.sentences == [
        "WARNING: one",
        "WARNING: infoROM is corrupted at gpu 0000:01:00.0",
    ]


def test_long_lists_of_clocks_are_passed_over() -> None:
    """A card may list thousands of them: none is kept, and what follows is read."""
    clocks = "<supported_mem_clock>1</supported_mem_clock>\n" * 5000
    (gpu,) = read(log_xml(gpu_xml(0, supported_clocks=clocks, serial="s"))).gpus
    assert gpu.cells["serial"] == "s"
    assert not [path for path in gpu.cells if "supported" in path]
