"""mma.sync: the instructions of a warp's tensor core, and which lane holds which element of its operands."""
