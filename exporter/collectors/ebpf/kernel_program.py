"""The bpftrace program that counts events of the kernel: TCP retransmits and disk latency.

The process that opened a socket is noted when it is connected or accepted, as a retransmit happens
in no process. Its cgroup is that of the socket itself. Tracepoints:
https://docs.kernel.org/trace/events.html
"""

from collections.abc import Sequence
from pathlib import Path

from exporter.collectors.ebpf.batch import turns

RETRANSMITS, LATENCY = "tcp_retransmits", "disk_latency"

TRACEPOINTS = {
    RETRANSMITS: (
        *("tcp/tcp_retransmit_skb", "tcp/tcp_retransmit_synack", "tcp/tcp_destroy_sock"),
        *("sock/inet_sock_set_state", "syscalls/sys_exit_accept4", "syscalls/sys_exit_accept"),
    ),
    LATENCY: ("block/block_rq_issue", "block/block_rq_complete"),
}

MAPS = {RETRANSMITS: ("@retransmits",), LATENCY: ("@time", "@sum")}
RETRANSMIT_FORMAT = "tcp/tcp_retransmit_skb/format"

# TCP_SYN_SENT is 2, AF_INET 2, AF_INET6 10. Segments are counted as RetransSegs counts them: those
# that the network card cuts a buffer into.
_RETRANSMITS = """
tracepoint:sock:inet_sock_set_state /args->newstate == 2/ {
  @opener[(uint64)args->skaddr] = pid;
}
tracepoint:syscalls:sys_exit_accept4, tracepoint:syscalls:sys_exit_accept /args->ret >= 0/ {
  $files = ((struct task_struct *)curtask)->files->fdt->fd;
  $file = (struct file *)*($files + args->ret);
  $socket = ((struct socket *)$file->private_data)->sk;
  $family = $socket->__sk_common.skc_family;
  if ($family == 2 || $family == 10) { @opener[(uint64)$socket] = pid; }
}
tracepoint:tcp:tcp_destroy_sock { delete(@opener[(uint64)args->skaddr]); }
tracepoint:tcp:tcp_retransmit_skb ONLY_SENT{
  $buffer = (struct sk_buff *)args->skbaddr;
  $shared = (struct skb_shared_info *)((uint64)$buffer->head + $buffer->end);
  $segments = $shared->gso_segs > 1 ? $shared->gso_segs : 1;
  $cgroup = ((struct sock *)args->skaddr)->sk_cgrp_data.cgroup->kn->id;
  $opener = @opener[(uint64)args->skaddr];
  if (@set == 0) { @retransmits0[$cgroup, $opener] = sum($segments); }
  else { @retransmits1[$cgroup, $opener] = sum($segments); }
}
tracepoint:tcp:tcp_retransmit_synack {
  $cgroup = ((struct sock *)args->skaddr)->sk_cgrp_data.cgroup->kn->id;
  if (@set == 0) { @retransmits0[$cgroup, (uint64)0] = sum(1); }
  else { @retransmits1[$cgroup, (uint64)0] = sum(1); }
}"""

# Of the kind of a request only the first letter: behind its end lie bytes of earlier events, which
# would make other keys of the same text.
_LATENCY = """
tracepoint:block:block_rq_issue { @issued[args->dev, args->sector] = nsecs; }
tracepoint:block:block_rq_complete /@issued[args->dev, args->sector]/ {
  $took = nsecs - @issued[args->dev, args->sector];
  delete(@issued[args->dev, args->sector]);
  $kind = *(uint8 *)args->rwbs;
  if (@set == 0) {
    @time0[args->dev, $kind] = hist($took); @sum0[args->dev, $kind] = sum($took);
  } else {
    @time1[args->dev, $kind] = hist($took); @sum1[args->dev, $kind] = sum($took);
  }
}"""

_PROBES = {RETRANSMITS: _RETRANSMITS, LATENCY: _LATENCY}


def count_events(kinds: Sequence[str], *, reports_failures: bool) -> str:
    """Write the program that counts these kinds of events.

    With `reports_failures` the tracepoint also fires for segments that could not be sent, with
    the reason in `err`; RetransSegs does not count these.
    """
    maps = [name for kind in kinds for name in MAPS[kind]]
    text = "\n".join(["BEGIN { @set = 0; }", *(_PROBES[kind] for kind in kinds), turns(maps)])
    return text.replace("ONLY_SENT", "/args->err == 0/ " if reports_failures else "")


def not_countable(kind: str, events: Path, btf: Path) -> str | None:
    """Say why this kernel cannot count such events; None when it can."""
    for tracepoint in TRACEPOINTS[kind]:
        if not (events / tracepoint).exists():
            return f"this kernel has no tracepoint {tracepoint.replace('/', ':')}"
    if kind == RETRANSMITS and not btf.exists():
        return "this kernel has no BTF (CONFIG_DEBUG_INFO_BTF)"
    return None
