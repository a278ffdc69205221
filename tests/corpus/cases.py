"""The one list of all labelled recordings, by the batch in which they were written.

`seen` grew together with the rules. `second` was written and labelled away from the rules, before
any of them was mended for it. `third` was written in the same hour and judged for the first time
when that work had ended: docs/faults.md says what was found. `fourth` came after that. `fifth` was
written, labelled and committed before it was judged. `sixth` was written blind, by somebody who
knew no more than the names and severities of the rules, and committed before it was judged.
`seventh` was written blind in the same way, after rules were mended for the sixth, and committed
before it was judged. `eighth` was written blind once more, in proportion to how often such
incidents befall fleets, and committed before it was judged. `ninth` was labelled and committed
before it was judged too; its author had seen a listing of the rules with their conditions, and did
not use it. `tenth` was written blind, from the names, severities and summaries of the rules alone,
and committed before it was judged. `eleventh` was written blind, from the names, severities and
summaries of the rules and from the labelling guide, and committed before it was judged. `twelfth`
was written blind in the same way, in proportion to published studies of fleets, and committed
before it was judged. `thirteenth` was written blind once more, in the same way and proportion, with
new scenes on other machines, and committed before it was judged.
`probes` is about what newer sources see: jobs whose collectives are counted, cards of other
vendors, shared cards; it was labelled before it was judged, by somebody who knew the rules.
"""

from collections.abc import Mapping
from types import MappingProxyType

from tests.corpus import (
    classes,
    classes_adapters,
    classes_drivers,
    classes_planned,
    classes_repairs,
    classes_repeated,
    classes_starts,
    classes_storage,
    healthy_gpus,
    healthy_nodes,
    incidents_gpu_bus,
    incidents_gpu_memory,
    incidents_gpu_work,
    incidents_mixed,
    incidents_node,
    incidents_storage_network,
)
from tests.corpus.eighth import gpu_bus as eighth_gpu_bus
from tests.corpus.eighth import gpu_memory as eighth_gpu_memory
from tests.corpus.eighth import gpu_work as eighth_gpu_work
from tests.corpus.eighth import heat_and_power as eighth_heat_and_power
from tests.corpus.eighth import network as eighth_network
from tests.corpus.eighth import node_itself as eighth_node_itself
from tests.corpus.eighth import quiet_cards as eighth_quiet_cards
from tests.corpus.eighth import quiet_nodes as eighth_quiet_nodes
from tests.corpus.eighth import quiet_starts as eighth_quiet_starts
from tests.corpus.eighth import several as eighth_several
from tests.corpus.eighth import storage as eighth_storage
from tests.corpus.eleventh import disks as eleventh_disks
from tests.corpus.eleventh import filesystems as eleventh_filesystems
from tests.corpus.eleventh import gpu_bus as eleventh_gpu_bus
from tests.corpus.eleventh import gpu_memory as eleventh_gpu_memory
from tests.corpus.eleventh import gpu_work as eleventh_gpu_work
from tests.corpus.eleventh import heat_and_power as eleventh_heat_and_power
from tests.corpus.eleventh import network as eleventh_network
from tests.corpus.eleventh import node_itself as eleventh_node_itself
from tests.corpus.eleventh import other_makers as eleventh_other_makers
from tests.corpus.eleventh import quiet_cards as eleventh_quiet_cards
from tests.corpus.eleventh import quiet_nodes as eleventh_quiet_nodes
from tests.corpus.eleventh import quiet_starts as eleventh_quiet_starts
from tests.corpus.eleventh import several as eleventh_several
from tests.corpus.fifth import (
    driver,
    gpu_errors,
    heat_and_power,
    links_and_bus,
    network,
    node_itself,
    quiet_cards,
    quiet_starts,
    several,
    storage,
)
from tests.corpus.fifth import quiet_nodes as fifth_quiet_nodes
from tests.corpus.fourth import mixed
from tests.corpus.labels import Case
from tests.corpus.ninth import again as ninth_again
from tests.corpus.ninth import disks as ninth_disks
from tests.corpus.ninth import filesystems as ninth_filesystems
from tests.corpus.ninth import gpu_bus as ninth_gpu_bus
from tests.corpus.ninth import gpu_memory as ninth_gpu_memory
from tests.corpus.ninth import gpu_work as ninth_gpu_work
from tests.corpus.ninth import heat_and_power as ninth_heat_and_power
from tests.corpus.ninth import jobs_and_makers as ninth_jobs_and_makers
from tests.corpus.ninth import network as ninth_network
from tests.corpus.ninth import node_itself as ninth_node_itself
from tests.corpus.ninth import quiet_cards as ninth_quiet_cards
from tests.corpus.ninth import quiet_nodes as ninth_quiet_nodes
from tests.corpus.ninth import quiet_starts as ninth_quiet_starts
from tests.corpus.ninth import several as ninth_several
from tests.corpus.probes import collectives, other_vendors, quiet_jobs
from tests.corpus.second import (
    blind_spots,
    causes,
    ends,
    quiet_gpus,
    quiet_nodes,
    unread_storage,
    verdict,
)
from tests.corpus.seventh import bus as seventh_bus
from tests.corpus.seventh import disks as seventh_disks
from tests.corpus.seventh import filesystems as seventh_filesystems
from tests.corpus.seventh import gpu_memory as seventh_gpu_memory
from tests.corpus.seventh import gpu_work as seventh_gpu_work
from tests.corpus.seventh import heat_and_power as seventh_heat_and_power
from tests.corpus.seventh import network as seventh_network
from tests.corpus.seventh import node_itself as seventh_node_itself
from tests.corpus.seventh import other_makers, weekly
from tests.corpus.seventh import quiet_cards as seventh_quiet_cards
from tests.corpus.seventh import quiet_nodes as seventh_quiet_nodes
from tests.corpus.seventh import quiet_starts as seventh_quiet_starts
from tests.corpus.seventh import several as seventh_several
from tests.corpus.sixth import (
    bus,
    disks,
    filesystems,
    gpu_memory,
    gpu_work,
    links,
)
from tests.corpus.sixth import driver as sixth_driver
from tests.corpus.sixth import heat_and_power as sixth_heat_and_power
from tests.corpus.sixth import network as sixth_network
from tests.corpus.sixth import node_itself as sixth_node_itself
from tests.corpus.sixth import quiet_cards as sixth_quiet_cards
from tests.corpus.sixth import quiet_nodes as sixth_quiet_nodes
from tests.corpus.sixth import quiet_starts as sixth_quiet_starts
from tests.corpus.sixth import several as sixth_several
from tests.corpus.tenth import disks as tenth_disks
from tests.corpus.tenth import filesystems as tenth_filesystems
from tests.corpus.tenth import gpu_bus as tenth_gpu_bus
from tests.corpus.tenth import gpu_memory as tenth_gpu_memory
from tests.corpus.tenth import gpu_work as tenth_gpu_work
from tests.corpus.tenth import heat_and_power as tenth_heat_and_power
from tests.corpus.tenth import network as tenth_network
from tests.corpus.tenth import node_itself as tenth_node_itself
from tests.corpus.tenth import quiet_cards as tenth_quiet_cards
from tests.corpus.tenth import quiet_nodes as tenth_quiet_nodes
from tests.corpus.tenth import quiet_starts as tenth_quiet_starts
from tests.corpus.tenth import several as tenth_several
from tests.corpus.third import incidents_gpu, quiet
from tests.corpus.third import incidents_node as third_node
from tests.corpus.thirteenth.cases import CASES as THIRTEENTH
from tests.corpus.twelfth import disks as twelfth_disks
from tests.corpus.twelfth import filesystems as twelfth_filesystems
from tests.corpus.twelfth import gpu_bus as twelfth_gpu_bus
from tests.corpus.twelfth import gpu_memory as twelfth_gpu_memory
from tests.corpus.twelfth import gpu_work as twelfth_gpu_work
from tests.corpus.twelfth import heat_and_power as twelfth_heat_and_power
from tests.corpus.twelfth import network as twelfth_network
from tests.corpus.twelfth import node_itself as twelfth_node_itself
from tests.corpus.twelfth import quiet_cards as twelfth_quiet_cards
from tests.corpus.twelfth import quiet_nodes as twelfth_quiet_nodes
from tests.corpus.twelfth import quiet_starts as twelfth_quiet_starts
from tests.corpus.twelfth import several as twelfth_several

SEEN = (
    *incidents_gpu_memory.CASES,
    *incidents_gpu_bus.CASES,
    *incidents_gpu_work.CASES,
    *incidents_mixed.CASES,
    *incidents_node.CASES,
    *incidents_storage_network.CASES,
    *healthy_gpus.CASES,
    *healthy_nodes.CASES,
    *classes.CASES,
    *classes_planned.CASES,
    *classes_repairs.CASES,
    *classes_repeated.CASES,
    *classes_starts.CASES,
    *classes_storage.CASES,
    *classes_drivers.CASES,
    *classes_adapters.CASES,
)
SECOND = (
    *verdict.CASES,
    *ends.CASES,
    *causes.CASES,
    *blind_spots.CASES,
    *unread_storage.CASES,
    *quiet_gpus.CASES,
    *quiet_nodes.CASES,
)
THIRD = (*incidents_gpu.CASES, *third_node.CASES, *quiet.CASES)
FIFTH = (
    *gpu_errors.CASES,
    *links_and_bus.CASES,
    *heat_and_power.CASES,
    *driver.CASES,
    *network.CASES,
    *storage.CASES,
    *node_itself.CASES,
    *several.CASES,
    *quiet_cards.CASES,
    *quiet_starts.CASES,
    *fifth_quiet_nodes.CASES,
)
SIXTH = (
    *gpu_memory.CASES,
    *gpu_work.CASES,
    *links.CASES,
    *bus.CASES,
    *sixth_heat_and_power.CASES,
    *sixth_driver.CASES,
    *sixth_network.CASES,
    *disks.CASES,
    *filesystems.CASES,
    *sixth_node_itself.CASES,
    *sixth_several.CASES,
    *sixth_quiet_cards.CASES,
    *sixth_quiet_nodes.CASES,
    *sixth_quiet_starts.CASES,
)
SEVENTH = (
    *seventh_gpu_memory.CASES,
    *seventh_gpu_work.CASES,
    *seventh_bus.CASES,
    *other_makers.CASES,
    *seventh_heat_and_power.CASES,
    *seventh_network.CASES,
    *seventh_disks.CASES,
    *seventh_filesystems.CASES,
    *seventh_node_itself.CASES,
    *seventh_several.CASES,
    *weekly.CASES,
    *seventh_quiet_cards.CASES,
    *seventh_quiet_nodes.CASES,
    *seventh_quiet_starts.CASES,
)
EIGHTH = (
    *eighth_gpu_memory.CASES,
    *eighth_gpu_bus.CASES,
    *eighth_gpu_work.CASES,
    *eighth_heat_and_power.CASES,
    *eighth_network.CASES,
    *eighth_storage.CASES,
    *eighth_node_itself.CASES,
    *eighth_several.CASES,
    *eighth_quiet_cards.CASES,
    *eighth_quiet_nodes.CASES,
    *eighth_quiet_starts.CASES,
)
NINTH = (
    *ninth_gpu_memory.CASES,
    *ninth_gpu_bus.CASES,
    *ninth_gpu_work.CASES,
    *ninth_jobs_and_makers.CASES,
    *ninth_heat_and_power.CASES,
    *ninth_network.CASES,
    *ninth_disks.CASES,
    *ninth_filesystems.CASES,
    *ninth_node_itself.CASES,
    *ninth_several.CASES,
    *ninth_again.CASES,
    *ninth_quiet_cards.CASES,
    *ninth_quiet_nodes.CASES,
    *ninth_quiet_starts.CASES,
)
TENTH = (
    *tenth_gpu_memory.CASES,
    *tenth_gpu_bus.CASES,
    *tenth_gpu_work.CASES,
    *tenth_heat_and_power.CASES,
    *tenth_network.CASES,
    *tenth_disks.CASES,
    *tenth_filesystems.CASES,
    *tenth_node_itself.CASES,
    *tenth_several.CASES,
    *tenth_quiet_cards.CASES,
    *tenth_quiet_nodes.CASES,
    *tenth_quiet_starts.CASES,
)
ELEVENTH = (
    *eleventh_gpu_memory.CASES,
    *eleventh_gpu_bus.CASES,
    *eleventh_gpu_work.CASES,
    *eleventh_other_makers.CASES,
    *eleventh_heat_and_power.CASES,
    *eleventh_network.CASES,
    *eleventh_disks.CASES,
    *eleventh_filesystems.CASES,
    *eleventh_node_itself.CASES,
    *eleventh_several.CASES,
    *eleventh_quiet_cards.CASES,
    *eleventh_quiet_nodes.CASES,
    *eleventh_quiet_starts.CASES,
)
TWELFTH = (
    *twelfth_gpu_memory.CASES,
    *twelfth_gpu_bus.CASES,
    *twelfth_gpu_work.CASES,
    *twelfth_heat_and_power.CASES,
    *twelfth_network.CASES,
    *twelfth_disks.CASES,
    *twelfth_filesystems.CASES,
    *twelfth_node_itself.CASES,
    *twelfth_several.CASES,
    *twelfth_quiet_cards.CASES,
    *twelfth_quiet_nodes.CASES,
    *twelfth_quiet_starts.CASES,
)
PROBES = (*collectives.CASES, *other_vendors.CASES, *quiet_jobs.CASES)
BATCHES: Mapping[str, tuple[Case, ...]] = MappingProxyType(
    {
        "seen": SEEN,
        "second": SECOND,
        "third": THIRD,
        "fourth": mixed.CASES,
        "fifth": FIFTH,
        "sixth": SIXTH,
        "seventh": SEVENTH,
        "eighth": EIGHTH,
        "ninth": NINTH,
        "tenth": TENTH,
        "eleventh": ELEVENTH,
        "twelfth": TWELFTH,
        "thirteenth": THIRTEENTH,
        "probes": PROBES,
    }
)
NOT_MENDED: frozenset[str] = frozenset()  # batches for which no rule was mended yet
CASES = (
    *SEEN,
    *SECOND,
    *THIRD,
    *mixed.CASES,
    *FIFTH,
    *SIXTH,
    *SEVENTH,
    *EIGHTH,
    *NINTH,
    *TENTH,
    *ELEVENTH,
    *TWELFTH,
    *THIRTEENTH,
    *PROBES,
)
