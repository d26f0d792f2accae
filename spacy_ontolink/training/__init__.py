"""Training of encoders and rerankers; empty so far, since linking as it stands needs none."""
