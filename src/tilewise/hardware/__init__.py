"""The hardware's own layouts and rules, as cited data: engines, fragments, atoms, descriptors.

Each fact stands in a table with the document and the section that it comes from. Code reads the tables.
"""
