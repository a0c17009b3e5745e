"""ldmatrix, stmatrix and movmatrix: 8 x 8 matrices between shared memory and the registers of a warp."""
