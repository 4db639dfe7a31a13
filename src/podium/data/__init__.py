"""Lists of documents: reading, writing, making, dividing and rescaling them."""
