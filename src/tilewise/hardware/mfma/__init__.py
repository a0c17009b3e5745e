"""mfma: the matrix instructions of AMD's CDNA3 (gfx942), and the lane of a wave for each element."""
