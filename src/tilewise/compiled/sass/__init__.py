"""Machine code of NVIDIA GPUs, from the text of `nvdisasm` or `cuobjdump -sass`."""
