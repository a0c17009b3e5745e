"""Operands that an engine reads from shared memory through a descriptor: the shared part of wgmma and
tcgen05.
"""
