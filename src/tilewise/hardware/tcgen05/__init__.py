"""tcgen05: the tensor core of Blackwell, its operands in shared memory and in tensor memory."""
