"""Operands that an engine reads from shared memory through a descriptor: what wgmma and tcgen05 share."""
