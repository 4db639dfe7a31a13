"""Numerics that losses lean on: elementary functions, interpolation, samplers."""
