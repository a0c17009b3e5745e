"""Hopper's TMA: element types, tensor maps, the driver's rules, and the landing of a box in shared memory."""
