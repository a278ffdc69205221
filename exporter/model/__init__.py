"""Frozen values: readings and conclusions."""
