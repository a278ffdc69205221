"""The components of rules: their fields and relations."""
