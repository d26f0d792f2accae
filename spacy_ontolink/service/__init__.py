"""``ontolink serve``: a pipeline behind HTTP. Needs the extra ``serve``; only ``cli/serve`` imports what is here."""
