"""Detectors of unusual GPUs: compared with their siblings and with their past."""
