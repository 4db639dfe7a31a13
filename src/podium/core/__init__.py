"""The base of all rooms: parameters of objects, the register of classes, files that are written whole or not at all."""
