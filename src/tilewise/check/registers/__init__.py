"""Moves between registers: the holders of the elements, the lanes that want them, and the ways between.

reading    which element of TO each element of FROM is
warp       the question of one warp, as a table; as an affine map over GF(2); how few exchanges it takes
steps      steps as data, registers made of registers of one lane, in each its own or in all alike; what
           steps do and cost
rounds     which lane offers what, and which it reads, round by round
programs   shuffles, movmatrix, votes: all programs that are tried

question   the question of a block: labels of all registers of all threads
inside     by names, by permutations of bytes, by shuffles
memory     where units lie in shared memory, so that few lanes meet in a bank
accesses   stores and loads as data, and their wavefronts
shared     through memory: what it costs, its turns, and the proof
search     the best of all linear ways through memory; the same for any extents, unit by unit
"""
