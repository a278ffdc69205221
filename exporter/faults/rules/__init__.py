"""Rules: their data model, schema, loader and documentation."""
