"""Knowledge bases: entities and their names as memory-mapped columns, and the readers that fill them."""
