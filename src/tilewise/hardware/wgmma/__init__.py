"""Hopper's wgmma: its types and shapes, register fragments, shared-memory tiles and descriptors."""
