"""One module per format that a model can be exported to; each registers its target when it is imported."""
