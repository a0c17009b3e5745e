"""mma.sync: the instructions of a warp's tensor core, and the lane of each element of their operands."""
