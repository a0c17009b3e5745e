"""mfma: the matrix instructions of AMD's CDNA3 (gfx942), and which lane of a wave holds which element."""
