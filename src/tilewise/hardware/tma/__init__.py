"""Hopper's TMA: element types, tensor maps, the driver's rules, and where a box lands in shared memory."""
