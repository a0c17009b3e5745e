"""PTX of any compiler, as programs of the same machine that runs machine code."""
