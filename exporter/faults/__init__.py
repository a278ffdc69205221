"""Fault rules: their evaluation, evidence, root causes and catalogues."""
