"""``python -m spacy_ontolink`` is ``ontolink``."""

from .cli import main

if __name__ == "__main__":
    main()
