"""The expressions of rules: syntax, parser, type check, evaluation."""
