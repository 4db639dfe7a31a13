"""Models in the formats of search engines and other libraries: ``podium.export(model, path, format="solr")``."""
