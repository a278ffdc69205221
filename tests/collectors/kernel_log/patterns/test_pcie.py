"""Lines of the PCI Express core."""

import pytest

from tests.collectors.kernel_log.feeding import Case, events_of, expect_one_event, only_event

DEVICE = ("pcie", "0000:3b:00.0")
PORT = ("pcie", "0000:3a:00.0")

CASES: tuple[Case, ...] = (
    (
        "pcie_aer",
        DEVICE,
        {
            "port": "0000:3a:00.0",
            "severity": "nonfatal",
            "layer": "Transaction",
            "agent": "Requester",
            "status": "00004000",
            "error": "CmpltTO",
        },
        (
            (
                "pcieport 0000:3a:00.0: AER: Uncorrectable (Non-Fatal) error message received from "
                "0000:3b:00.0"
            ),
            (
                "nvidia 0000:3b:00.0: PCIe Bus Error: severity=Uncorrectable (Non-Fatal), "
                "type=Transaction Layer, (Requester ID)"
            ),
            "nvidia 0000:3b:00.0:   device [10de:2330] error status/mask=00004000/00400000",
            "nvidia 0000:3b:00.0:    [14] CmpltTO                (First)",
        ),
    ),
    (
        "pcie_aer",
        DEVICE,
        {"severity": "corrected", "multiple": None},
        ("pcieport 0000:3a:00.0: AER: Corrected error message received from 0000:3b:00.0",),
    ),
    (
        "pcie_aer",
        DEVICE,
        {"severity": "corrected", "multiple": "Multiple"},
        ("pcieport 0000:3a:00.0: AER: Multiple Corrected error received: 0000:3b:00.0",),
    ),
    (
        "pcie_aer",
        ("pcie", "0000:00:1c.0"),
        {"severity": "fatal"},
        ("pcieport 0000:00:1c.0: AER: Uncorrected (Fatal) error received: id=00e0",),
    ),
    (
        "pcie_aer",
        ("pcie", "0000:00:03.1"),
        {"layer": "Data Link", "agent": "Receiver", "error": "RxErr,BadTLP"},
        (
            "pcieport 0000:00:03.1: AER: Correctable error message received from 0000:00:00.0",
            (
                "pcieport 0000:00:03.1: PCIe Bus Error: "
                "severity=Correctable, type=Data Link Layer, "
                "(Receiver ID)"
            ),
            "pcieport 0000:00:03.1:   device [1022:1453] error status/mask=00000041/00006000",
            "pcieport 0000:00:03.1:    [ 0] RxErr                ",
            "pcieport 0000:00:03.1:    [ 6] BadTLP               ",
        ),
    ),
    (
        "pcie_aer",
        PORT,
        {"severity": "corrected", "layer": "Physical", "error": "RxErr"},
        (
            (
                "pcieport 0000:3a:00.0: AER: PCIe Bus Error: "
                "severity=Corrected, type=Physical Layer,"
                " id=00e0(Receiver ID)"
            ),
            "pcieport 0000:3a:00.0: AER:   device [8086:a110] error status/mask=00000001/00002000",
            "pcieport 0000:3a:00.0: AER:    [ 0] Receiver Error         (First)",
        ),
    ),
    (
        "pcie_recovery_failed",
        PORT,
        {},
        ("pcieport 0000:3a:00.0: AER: device recovery failed",),
    ),
    (
        "pcie_dpc",
        PORT,
        {"status": "0x1f01"},
        ("pcieport 0000:3a:00.0: DPC: containment event, status:0x1f01 source:0x0000",),
    ),
    (
        "pcie_dpc",
        PORT,
        {"ended": "yes"},
        ("pcieport 0000:3a:00.0: AER: device recovery successful",),
    ),
    (
        "pcie_dpc",
        PORT,
        {"status": "0x1f05"},
        ("dpc 0000:3a:00.0:pcie010: DPC containment event, status:0x1f05 source:0x3b00",),
    ),
    (
        "pcie_link_down",
        PORT,
        {"slot": "3", "state": "Link Down"},
        ("pcieport 0000:3a:00.0: pciehp: Slot(3): Link Down",),
    ),
    (
        "pcie_link_down",
        PORT,
        {"slot": "0-2", "state": "Card not present"},
        ("pcieport 0000:3a:00.0: pciehp: Slot(0-2): Card not present",),
    ),
    (
        "pcie_link_down",
        PORT,
        {"state": "Link Down"},
        ("pciehp 0000:3a:00.0:pcie004: Slot(3): Link Down",),
    ),
    (
        "pcie_bandwidth_limited",
        DEVICE,
        {"gigabits": "63.008", "port": "0000:3a:00.0", "capable_gigabits": "252.048"},
        (
            (
                "pci 0000:3b:00.0: 63.008 Gb/s available PCIe bandwidth, "
                "limited by 8.0 GT/s PCIe x8 "
                "link at 0000:3a:00.0 (capable of 252.048 Gb/s with 16.0 GT/s PCIe x16 link)"
            ),
        ),
    ),
    (
        "pcie_inaccessible",
        DEVICE,
        {"old": "D3cold"},
        (
            (
                "nvidia 0000:3b:00.0: Unable to change power state from D3cold to D0, "
                "device inaccessible"
            ),
        ),
    ),
    (
        "pcie_inaccessible",
        DEVICE,
        {},
        (
            (
                "nvidia 0000:3b:00.0: can't change power state from D3cold to D0 "
                "(config space inaccessible)"
            ),
        ),
    ),
    (
        "pcie_inaccessible",
        ("pcie", "0000:3b:00.3"),
        {"old": "D3"},
        ("nvidia-gpu 0000:3b:00.3: Refused to change power state, currently in D3",),
    ),
    (
        "pcie_power_fault",
        PORT,
        {"slot": "3"},
        "pcieport 0000:3a:00.0: pciehp: Slot(3): Power fault",
    ),
    (
        "slot_power_off",
        PORT,
        {"slot": "3"},
        "pcieport 0000:3a:00.0: pciehp: Slot(3): Button press: will power off in 5 sec",
    ),
    (
        "slot_power_off",
        PORT,
        {"slot": "3"},
        "pcieport 0000:3a:00.0: pciehp: Slot(3): Powering off due to button press",
    ),
    (
        "iommu_fault",
        DEVICE,
        {"address": "0x7f2a10000000", "flags": "0x0020", "domain": "0x0011"},
        (
            "nvidia 0000:3b:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0011 "
            "address=0x7f2a10000000 flags=0x0020]"
        ),
    ),
    (
        "iommu_fault",
        DEVICE,
        {"pci": "0000:3b:00.0", "flags": "0x0050"},
        (
            "AMD-Vi: Event logged [IO_PAGE_FAULT device=3b:00.0 domain=0x000a "
            "address=0x00000000fdf80000 flags=0x0050]"
        ),
    ),
    (
        "iommu_fault",
        DEVICE,
        {"operation": "DMA Write", "address": "0xbf000000", "reason": "0x05"},
        (
            "DMAR: [DMA Write NO_PASID] Request device [3b:00.0] fault addr 0xbf000000 "
            "[fault reason 0x05] PTE Write access is not set"
        ),
    ),
    (
        "iommu_fault",
        DEVICE,
        {"operation": "DMA Read", "address": "9c000000", "reason": "06"},
        (
            "DMAR: [DMA Read] Request device [0x3b:0x00.0] PASID ffffffff fault addr 9c000000 "
            "[fault reason 06] PTE Read access is not set"
        ),
    ),
    (
        "pcie_inaccessible",
        ("pcie", "0000:3b:00.0"),
        {"after": "bus reset"},
        "nvidia 0000:3b:00.0: not ready 65535ms after bus reset; giving up",
    ),
    (
        "pcie_link_down",
        ("pcie", "0000:3a:00.0"),
        {"slot": "3", "state": "Link Down"},
        "pciehp 0000:3a:00.0:pcie004: Slot(3): Link Down event",
    ),
    (
        "iommu_fault",
        ("pcie", "0009:01:00.0"),
        {"reason": "F_TRANSLATION", "address": "0xfffe0000"},
        (
            "arm-smmu-v3 arm-smmu-v3.5.auto: event: F_TRANSLATION client: 0009:01:00.0 sid: 0x100 "
            "ssid: 0x0 iova: 0xfffe0000 ipa: 0x0"
        ),
    ),
)


@pytest.mark.parametrize("case", CASES)
def test_a_message_of_the_pcie_core_is_one_event(case: Case) -> None:
    """Head, body and bits of one error are one event, in the words of old and new kernels."""
    expect_one_event(*case)


@pytest.mark.parametrize(
    "line",
    [
        "DMAR: DRHD: handling fault status reg 3",
        "AMD-Vi: Interrupt remapping enabled",
        "AMD-Vi: Event logged [COMMAND_HARDWARE_ERROR address=0x0000000000000000 flags=0x0000]",
        "pcieport 0000:3a:00.0: pciehp: Slot(3): Attention button pressed",
        "pcieport 0000:3a:00.0: AER: enabled with IRQ 124",
        "pcieport 0000:3a:00.0: AER: can't find device of ID00e0",
        "nvidia 0000:3b:00.0:    [14] CmpltTO                (First)",
        "nvidia 0000:3b:00.0:   device [10de:2330] error status/mask=00004000/00400000",
        "pcieport 0000:3a:00.0: DPC: enabled with IRQ 124",
        "pcieport 0000:3a:00.0: DPC: error containment capabilities: Int Msg #0, RPExt+",
        "pcieport 0000:3a:00.0: pciehp: Slot #3 AttnBtn- PwrCtrl- MRL- AttnInd- PwrInd- HotPlug+",
        "pcieport 0000:3a:00.0: pciehp: Slot(3): Link Down/Up ignored (recovered by DPC)",
        "pci 0000:3b:00.0: 252.048 Gb/s available PCIe bandwidth (16.0 GT/s PCIe x16 link)",
        "pci 0000:3b:00.0: PME# supported from D0 D3hot D3cold",
        "pcieport 0000:3a:00.0: Refused to change power state from D0 to D3hot",
        "pci 0000:3b:00.0: [10de:2330] type 00 class 0x030200 PCIe Endpoint",
        "nvidia 0000:3b:00.0: not ready 1023ms after bus reset; waiting",
        "nvidia 0000:3b:00.0: ready 2047ms after bus reset",
    ],
)
def test_other_words_of_the_pcie_core_are_no_event(line: str) -> None:
    """Boot notices, successes and loose parts of messages say nothing."""
    assert events_of(line) == ()


def test_link_up_ends_and_is_not_counted_as_down() -> None:
    """The slot's return is an event that ends, of the same kind."""
    event = only_event("pcieport 0000:3a:00.0: pciehp: Slot(3): Link Up")
    assert (event.kind, event.fields["ended"]) == ("pcie_link_down", "yes")
    assert event.type.value == "topo.link_down"


def test_each_error_of_a_burst_is_an_event() -> None:
    """A second head, or a second body, begins a second event."""
    head = "pcieport 0000:3a:00.0: AER: Corrected error message received from 0000:3b:00.0"
    body = (
        "nvidia 0000:3b:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, "
        "(Receiver ID)"
    )
    assert len(events_of(head, body, head, body)) == 2
    assert len(events_of(head, body, body)) == 2
