"""How results are shown to people: in notebooks, as plots, and while work goes on."""
