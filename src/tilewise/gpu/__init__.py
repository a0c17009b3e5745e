"""Code on a device: find one, compile for it, launch, and let the hardware say what it does.

Everything of NVIDIA's Python packages is in `device`, `compile` and `launch`, imported when first used.
"""
