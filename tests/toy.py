"""Ontologies of a few terms as OBO: the traits that tests of several folders link to, each with terms of its own."""


def term(id, name, *clauses):
    """A term, with further clauses as they stand in the file."""
    return "\n".join(["[Term]", f"id: {id}", f"name: {name}", *clauses]) + "\n"


def obo(*terms, name="toy"):
    """The text of a file; without a name it does not say which ontology it is."""
    header = "format-version: 1.2\n" + (f"ontology: {name}\n" if name else "")
    return "\n".join([header, *terms])


def below(parent):
    return f"is_a: {parent}"


FAT = ("T:1", "body fat percentage", 'synonym: "fat percentage" EXACT []')
"""What every toy has, under a parent or none; most know it as "BF", too."""
BF = 'synonym: "BF" RELATED []'
TRAIT = term("T:0", "trait")
