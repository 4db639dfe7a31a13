"""Reading, writing, making and rescaling lists of documents."""
