"""Trials of the rules about the PCI Express bus."""

from tests.faults.rules.trials import Given, Goes, Rises, Row

PORT, CARD = "0000:3a:00.0", "0000:3b:00.0"
FATAL = (
    f"pcieport {PORT}: AER: Uncorrected (Fatal) error received: {CARD}\n"
    f"nvidia {CARD}: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, "
    "(Requester ID)\n"
    f"nvidia {CARD}:   device [10de:2330] error status/mask=00004000/00400000\n"
    f"nvidia {CARD}:    [14] CmpltTO                (First)"
)
CORRECTED = (
    f"pcieport {PORT}: AER: Corrected error received: {CARD}\n"
    f"nvidia {CARD}: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)\n"
    f"nvidia {CARD}:   device [10de:2330] error status/mask=00000001/0000a000\n"
    f"nvidia {CARD}:    [ 0] RxErr                  (First)"
)
QUIET: Given = {
    "errors_by_severity[correctable]": 5.0,
    "errors_by_severity[nonfatal]": 2.0,
    "errors_by_severity[fatal]": 0.0,
}
LINK: Given = {
    "is_reduced": True,
    "suspended": False,
    "kind": "nvme",
    "width": 2,
    "width_reachable": 4,
}

BLOCKED = (
    f"nvidia {CARD}: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0003 address=0x80000{{}}40 "
    "flags=0x0020]"
)

ROWS = (
    Row(
        "pcie_power_fault",
        "pcie",
        about=PORT,
        holds={"kernel": f"pcieport {PORT}: pciehp: Slot(3): Power fault"},
        holds_not={"kernel": f"pcieport {PORT}: pciehp: Slot(3): Link Up"},
        severity="critical",
    ),
    Row(
        "iommu_fault",
        "pcie",
        about=CARD,
        holds={"kernel": "\n".join(BLOCKED.format(n) for n in range(3))},
        holds_not={"kernel": "\n".join(BLOCKED.format(n) for n in range(2))},
    ),
    Row(
        "pcie_aer_uncorrected",
        "pcie",
        about=CARD,
        holds={"kernel": FATAL},
        holds_not={**QUIET, "kernel": CORRECTED},
        severity="critical",
        summary="fatal error (CmpltTO)",
    ),
    Row(
        "pcie_aer_corrected_rate",
        "pcie",
        holds={"errors_by_severity[correctable]": Rises(1.0)},
        holds_not={"errors_by_severity[correctable]": Rises(0.05)},
        clears={"errors_by_severity[correctable]": Rises(0.0)},
    ),
    Row(
        "pcie_link_down",
        "pcie",
        about=PORT,
        holds={"kernel": f"pcieport {PORT}: pciehp: Slot(12): Link Down"},
        holds_not={"kernel": f"pcieport {PORT}: pciehp: Slot(12): Link Up"},
        clears={"kernel": f"pcieport {PORT}: pciehp: Slot(12): Link Up"},
        severity="critical",
        summary="(Link Down)",
    ),
    Row(
        "pcie_containment",
        "pcie",
        about=PORT,
        holds={"kernel": f"pcieport {PORT}: DPC: containment event, status:0x1f01 source:0x0000"},
        holds_not={"kernel": FATAL},
        severity="critical",
    ),
    Row(
        "pcie_device_inaccessible",
        "pcie",
        about=CARD,
        holds={
            "kernel": f"nvidia {CARD}: Unable to change power state from D3cold to D0, "
            "device inaccessible"
        },
        holds_not={"kernel": FATAL},
    ),
    Row(
        "pcie_device_link_degraded",
        "pcie",
        holds=LINK,
        holds_not={**LINK, "kind": "gpu"},
        clears={"is_reduced": False},
        unknown={"kind": "nvme"},
        is_gated=True,
        summary="2 of 4 lanes",
    ),
    Row(
        "pcie_network_card_missing",
        "node",
        holds={"network_pci_count": Goes(2, 1)},
        holds_not={"network_pci_count": Goes(1, 2)},
        clears={"network_pci_count": 2},
        unknown={},
        severity="critical",
    ),
    Row(
        "pcie_nvme_missing",
        "node",
        holds={"nvme_pci_count": Goes(8, 7)},
        holds_not={"nvme_pci_count": Goes(8, 7), "network_volume_count": 1},
        clears={"nvme_pci_count": 8},
        unknown={},
    ),
)
