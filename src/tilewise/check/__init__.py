"""Questions that hardware decides: is a layout legal, which one to take, do a writer and a reader agree."""
