"""Recordings of snapshots, to replay rules on."""
