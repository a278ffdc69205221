"""Rules: data model, schema, loader, templates and the site's changes."""
