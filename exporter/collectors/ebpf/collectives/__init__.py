"""NCCL collectives: which ranks wait, and for which rank."""
