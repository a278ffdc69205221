"""Further wordings of the kernel itself: PCIe, IOMMU, memory and processors."""

from tests.collectors.kernel_log.feeding import Case

NODE = ("node", "")

CASES: tuple[Case, ...] = (
    (
        "page_offline",
        NODE,
        {"pfn": "edbe201", "name": "read_poison", "pid": "22434"},
        (
            "Memory failure: 0xedbe201: forcibly killing read_poison:22434 because of "
            "failure to unmap corrupted page"
        ),
    ),
    ("page_offline", NODE, {"pfn": "10c1f3"}, "RAS: Soft-offlining pfn: 0x10c1f3"),
    (
        "iommu_fault",
        NODE,
        {"reason": "unexpected global error"},
        (
            "arm-smmu-v3 arm-smmu-v3.3.auto: unexpected global error reported (0x00000001), "
            "this could be serious"
        ),
    ),
    ("pcie_dpc", NODE, {"slot": "PHB#0-PE#1"}, "EEH: Frozen PHB#0-PE#1 detected"),
    ("iommu_fault", NODE, {"reason": "Command buffer timeout"}, "AMD-Vi: Command buffer timeout"),
    (
        "iommu_fault",
        NODE,
        {"reason": "0x10"},
        "arm-smmu-v3 arm-smmu-v3.34.auto: event 0x10 received:",
    ),
    (
        "iommu_fault",
        NODE,
        {"reason": "C_BAD_STREAMID"},
        (
            "arm-smmu-v3 arm-smmu-v3.0.auto: event: C_BAD_STREAMID client: (unassigned sid) "
            "sid: 0x900 ssid: 0x0"
        ),
    ),
    (
        "pcie_inaccessible",
        ("pcie", "0000:01:01.2"),
        {},
        "pci 0000:01:01.2: unknown header type 7f, ignoring device",
    ),
    (
        "pcie_link_down",
        ("pcie", "0000:80:03.0"),
        {"port": "0000:80:03.0", "slot": "5", "state": "No link"},
        "pcieport 0000:80:03.0: pciehp: Slot(5): No link",
    ),
    (
        "kernel_oops",
        NODE,
        {"text": "SError Interrupt on CPU4, code 0x00000000be000411"},
        "SError Interrupt on CPU4, code 0x00000000be000411 -- SError",
    ),
    (
        "kernel_oops",
        NODE,
        {"text": "traps: PANIC: double fault, error_code: 0x0"},
        "traps: PANIC: double fault, error_code: 0x0",
    ),
    (
        "kernel_oops",
        NODE,
        {"text": "BUG: TASK stack guard page was hit at 00000000d4ff1a2d"},
        "BUG: TASK stack guard page was hit at 00000000d4ff1a2d",
    ),
    (
        "bad_page",
        NODE,
        {"cache": "kmalloc-512", "what": "slab"},
        "BUG kmalloc-512 (Tainted: G        W  OE    ): Poison overwritten",
    ),
    (
        "bad_page",
        NODE,
        {"what": "list"},
        (
            "list_add corruption. prev->next should be next (ffff9c5d7f8a1e48), but was "
            "dead000000000100. (prev=ffff9c5d41a2b048)."
        ),
    ),
    (
        "kernel_oops",
        NODE,
        {"text": "Bad mode in Error handler detected on CPU3, code 0xbf000002"},
        "Bad mode in Error handler detected on CPU3, code 0xbf000002 -- SError",
    ),
    (
        "clocksource_unstable",
        NODE,
        {"cpu": "227", "clocksource": "tsc"},
        (
            "clocksource: timekeeping watchdog on CPU227: wd-tsc-wd excessive read-back "
            "delay of 153560ns vs. limit of 125000ns, wd-wd read-back delay only 11440ns, "
            "attempt 3, marking tsc unstable"
        ),
    ),
    (
        "iommu_fault",
        ("pcie", "0000:01:00.0"),
        {"reason": "F_TRANSLATION", "address": "0x8e0000"},
        (
            "arm-smmu-v3 arm-smmu-v3.1.auto: event: F_TRANSLATION client: 0000:01:00.0 sid: "
            "0x100 ssid: 0x0 iova: 0x8e0000 ipa: 0x0"
        ),
    ),
    (
        "pcie_inaccessible",
        ("pcie", "0000:01:00.0"),
        {},
        "qla3xxx 0000:01:00.0: unknown header type 7f, ignoring device",
    ),
    (
        "bad_page",
        NODE,
        {"what": "list"},
        "list_del corruption, ffff9c5d7f8a1e48->next is LIST_POISON1 (dead000000000100)",
    ),
    (
        "bad_page",
        NODE,
        {"cache": "dentry", "what": "slab"},
        "BUG dentry (Not tainted): Right Redzone overwritten",
    ),
    (
        "clocksource_unstable",
        NODE,
        {"cpu": "3"},
        (
            "clocksource: timekeeping watchdog on CPU3: wd-tsc-wd read-back delay of 130ns "
            "vs. limit of 125ns, wd-wd read-back delay 110ns, attempt 4, marking unstable"
        ),
    ),
)

QUIET = (
    "pci 0000:01:01.2: unknown header type 05, ignoring device",
    "slub: list_add is well",
    "clocksource: timekeeping watchdog on CPU3: wd-tsc-wd excessive read-back delay of 130ns",
    "PANIC: double trouble",
)
"""Lines beside them that say no trouble."""
