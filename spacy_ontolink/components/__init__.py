"""spaCy components; factories are entry points, so nothing here needs to be imported by hand."""
