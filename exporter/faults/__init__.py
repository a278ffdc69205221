"""The rule engine: evaluation of rules, evidence and root causes of faults."""
