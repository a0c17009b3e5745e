"""Addresses in shared memory of the elements of a vector of the target."""

from __future__ import annotations

from collections.abc import Iterator

from tilewise.moves.kernels.spelling import added
from tilewise.moves.kernels.terms import Terms
from tilewise.moves.tiles.tile import LINE

Spelled = tuple[list[str], str]
"""Lines to write first, and the address in shared memory."""


class Elements(Terms):
    """The addresses of elements that a thread gathers."""

    def addresses(self) -> Iterator[Spelled]:
        """Yield the address of each element of a vector."""
        tile = self.tile
        run = tile.write_run
        if tile.partial:  # elements beyond the run are read within it
            for place in range(tile.vector):
                position = f"min(max(k + {place}, 0), {tile.run_elements - 1})"
                yield [f"const int p{place} = {position};"], self._swizzled(self._kept_at(f"p{place}"))
        elif tile.stagger:
            yield from self._staggered()
        elif tile.nested:
            yield from self.steps(self._kept_at("k", self.ahead * tile.pitches[run[0]] if run else 0))
        else:
            yield from self._in_pieces()

    @property
    def ahead(self) -> int:
        """Return the positions of the write run that are held before position k."""
        return self.tile.halo * self.tile.write_inner

    def row_names(self) -> dict[int, str]:
        names = {i: f"q{i}" for i in self.tile.write_rows}
        if self.tile.words > 1:
            names[self.tile.read_run[0]] = "j"
        return names

    def _kept_at(self, position: str, further: str | int = 0) -> str:
        """Return the byte in shared memory of a position in the write run."""
        tile = self.tile
        run = tile.merged(tile.write_run, tile.extents)
        begin = ["shift"] if tile.read_shift else []
        digits = self.run_digits(tuple(run), run, position)
        return added(*begin, *self.kept(self.row_names()), *self.kept(digits), further)

    def _swizzled(self, address: str) -> str:
        return address if self.tile.swizzle_shift is None else f"kept({address})"

    def steps(self, base: str) -> Iterator[Spelled]:
        """Yield elements at constant distances: the first address, and constants.

        A swizzle moves all of them alike where steps between them touch no bit that it reads or
        changes: whole lines, and a power of two.
        """
        steps = [self.offset(place) for place in range(self.tile.vector)]
        step = steps[1] if len(steps) > 1 else 0
        regular = all(own == place * step for place, own in enumerate(steps))
        together = step == 0 or (regular and step >= LINE and step.bit_count() == 1)
        for place, own in enumerate(steps):
            line = f"const int at = {self._swizzled(base) if together else base};"
            text = added("at", own)
            yield [] if place else [line], text if together else self._swizzled(text)

    def offset(self, place: int) -> int:
        """Return the bytes from a vector's first element to another, where no digit ends in between."""
        tile, offset = self.tile, 0
        for i in tile.write_run[:-1]:
            place, value = divmod(place, tile.extents[i])
            offset += value * tile.pitches[i]
        return offset + place * tile.pitches[tile.write_run[-1]] if tile.write_run else 0

    def _staggered(self) -> Iterator[Spelled]:
        """Yield elements at equal distances, from the thread's first one on.

        Each word, or each element of words, that may be the first has an address.
        """
        tile, stagger = self.tile, self.tile.stagger
        assert stagger is not None
        assert tile.regular, "elements of a vector are not evenly apart"
        step, count = tile.pitches[tile.write_run[0]], 4 if stagger.of_words else tile.of_word
        at = self._kept_at("k", self.ahead * step)
        lines = [f"const int first = threadIdx.x / {stagger.threads} & {count - 1}, at = {at};"]
        far = step * tile.of_word if stagger.of_words else step
        for i in range(count):
            lines.append(f"const int at{i} = at + ({added('first', i)} & {count - 1}) * {far};")
        for place in range(tile.vector):
            word, own = divmod(place, tile.of_word)
            chosen, further = (word, own * step) if stagger.of_words else (own, word * tile.of_word * step)
            yield [] if place else lines, added(f"at{chosen}", further)

    def _in_pieces(self) -> Iterator[Spelled]:
        """Yield elements along several digits, in pieces that end where the fastest digit ends.

        A piece has an address, from which its elements lie a step apart. An element is in the piece it would
        be in if the vector began with one, or in the next. The pieces of two digits are a jump apart.
        """
        tile = self.tile
        inner, *others = tile.write_run
        extent, step = tile.extents[inner], tile.pitches[inner]
        jump = 0 if len(others) > 1 else tile.pitches[others[0]] - extent * step
        begin = ["shift"] if tile.read_shift else []
        row = added(*begin, *self.kept(self.row_names()), f"digit * {step}")
        lines = [f"const u32 p = {added('k', self.ahead)}, digit = p % {extent}u, turn = p / {extent}u;"]
        lines.append(f"const int at = {row};")
        for piece in range(2 if jump else (extent + tile.vector - 2) // extent + 1):
            digits = self.kept(self.run_digits(others, tile.extents, f"(turn + {piece})"))
            lines.append(f"const int at{piece} = {added('at', *digits, -piece * extent * step)};")
        for place in range(tile.vector):
            piece, first = divmod(place, extent)
            own = 0 if jump else piece
            part = f"(digit < {extent - first}u ? at{own} : at{own + 1})" if first else f"at{own}"
            yield [] if place else lines, self._swizzled(added(part, place * step + piece * jump))
