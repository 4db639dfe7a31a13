"""What every room stands on: parameters of objects, the register of classes, files written whole or not at all."""
