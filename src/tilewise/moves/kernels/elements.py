"""Where the elements of a vector of the target lie in shared memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilewise.moves.kernels.spelling import added
from tilewise.moves.kernels.terms import Terms
from tilewise.moves.tiles.tile import LINE

Spelled = tuple[list[str], str]
"""Lines that are written first, and the address in shared memory."""


class Elements(Terms):
    """Their addresses."""

    def addresses(self) -> Iterator[Spelled]:
        """Of each element of a vector."""
        tile = self.tile
        if tile.partial:
            yield from self._within()
        elif tile.stagger:
            yield from self._staggered()
        elif tile.nested:
            ahead = self.ahead * tile.pitches[tile.write_run[0]] if tile.write_run else 0
            yield from self.steps(added(*self.rows, *self.kept_run("k"), ahead))
        elif tile.extents[tile.write_run[0]] >= self.places:
            yield from self._past()
        else:
            yield from self._carried()

    @property
    def places(self) -> int:
        """How many elements a thread gathers: a vector's, and what a vector that begins before has more."""
        return self.tile.vector + self.tile.lag

    @property
    def ahead(self) -> int:
        """How many positions of the write run are held before position k, less those that are gathered."""
        return self.tile.halo * self.tile.write_inner - self.tile.lag

    @property
    def rows(self) -> list[str]:
        """Where a write run begins in shared memory, to be added up."""
        return [*(["shift"] if self.tile.read_shift else []), *self.kept(self.row_names())]

    def row_names(self) -> dict[int, str]:
        names = {i: f"q{i}" for i in self.tile.write_rows}
        if self.tile.words > 1:
            names[self.tile.read_run[0]] = "j"
        return names

    def _within(self) -> Iterator[Spelled]:
        """Elements of a vector that the run may not fill: those beyond it are read within it."""
        for place in range(self.places):
            position = f"k + {place - self.tile.lag}"
            line = f"const int p{place} = min(max({position}, 0), {self.tile.run_elements - 1});"
            yield [line], self._swizzled(added(*self.rows, *self.kept_run(f"p{place}")))

    def kept_run(self, position: str) -> list[str]:
        """Bytes in shared memory of a position in the write run, to be added."""
        run = self.tile.merged(self.tile.write_run, self.tile.extents)
        return self.kept(self.run_digits(tuple(run), run, position))

    def steps(self, base: str, at: str = "at") -> Iterator[Spelled]:
        """Elements that are always as far apart: the first address, and constants."""
        tile = self.tile
        steps = [self.offset(place) for place in range(self.places)]
        if tile.swizzle_shift is None:
            named, texts = base, [added(at, step) for step in steps]
        elif self._kept_together(steps):
            named, texts = f"kept({base})", [added(at, step) for step in steps]
        else:
            named, texts = base, [f"kept({added(at, step)})" for step in steps]
        for place, text in enumerate(texts):
            yield [] if place else [f"const int {at} = {named};"], text

    def _kept_together(self, steps: Sequence[int]) -> bool:
        """Whether the swizzle moves all elements of a vector by the same.

        Steps between them that are whole lines, and a power of two, touch no bit that it reads or changes.
        """
        step = steps[1] if len(steps) > 1 else 0
        regular = all(own == place * step for place, own in enumerate(steps))
        return step == 0 or (regular and step >= LINE and step.bit_count() == 1)

    def offset(self, place: int) -> int:
        """Bytes in shared memory from a vector's first element to another, where no digit ends between."""
        tile, offset = self.tile, 0
        for i in tile.write_run:
            whole = i == tile.write_run[-1]
            offset += (place if whole else place % tile.extents[i]) * tile.pitches[i]
            place //= tile.extents[i]
        return offset

    def _staggered(self) -> Iterator[Spelled]:
        """Elements as far apart as each other, from those on with which the thread begins.

        Each word, or each element of words, that may be the first has an address.
        """
        tile, stagger = self.tile, self.tile.stagger
        assert stagger is not None
        assert tile.regular, "elements of a vector are not evenly apart"
        step, count = tile.pitches[tile.write_run[0]], 4 if stagger.of_words else tile.of_word
        base = added(*self.rows, *self.kept_run("k"), self.ahead * step)
        lines = [f"const int first = threadIdx.x / {stagger.threads} & {count - 1}, at = {base};"]
        far = step * tile.of_word if stagger.of_words else step
        for i in range(count):
            lines.append(f"const int at{i} = at + ({added('first', i)} & {count - 1}) * {far};")
        for place in range(self.places):
            word, own = divmod(place, tile.of_word)
            chosen, further = (word, own * step) if stagger.of_words else (own, word * tile.of_word * step)
            yield [] if place else lines, added(f"at{chosen}", further)

    def _past(self) -> Iterator[Spelled]:
        """Elements along several digits of which the fastest ends once at most: from there they go on.

        Both parts of a vector have an address, of which each of its elements takes one.
        """
        tile = self.tile
        extent, step = tile.extents[tile.write_run[0]], tile.pitches[tile.write_run[0]]
        lines = [
            f"const u32 p = {added('k', self.ahead)}, digit = p % {extent}u;",
            f"const int at = {added(*self.rows, *self.kept_run('p'))};",
        ]
        if len(tile.write_run) == 2:
            lines.append(f"const int past = {added('at', tile.pitches[tile.write_run[1]] - extent * step)};")
        else:
            beyond = added(*self.rows, *self.kept_run("next"), f"(int)(p - next) * {step}")
            lines += [f"const u32 next = p - digit + {extent}u;", f"const int past = {beyond};"]
        for place in range(self.places):
            part = f"(digit < {extent - place}u ? at : past) + {place * step}" if place else "at"
            yield [] if place else lines, self._swizzled(part)

    def _carried(self) -> Iterator[Spelled]:
        """Elements along several digits: one address from the other, with a carry where a digit ends.

        Of two digits those that are all of the faster one apart are a step of the other apart.
        """
        tile = self.tile
        run = tile.write_run
        for place in range(self.places):
            position = added("k", place + self.ahead)
            if len(run) == 2 and tile.extents[run[0]].bit_count() > 1:
                further, first = divmod(place, tile.extents[run[0]])
                lines = [] if further else self._carry(place, position)
                yield lines, self._swizzled(added(f"at{first}", further * tile.pitches[run[1]]))
            else:
                address = added(*self.rows, *self.kept_run(f"p{place}"))
                yield [f"const u32 p{place} = {position};"], self._swizzled(address)

    def _carry(self, place: int, position: str) -> list[str]:
        tile = self.tile
        inner, outer = tile.write_run
        extent, step, jump = tile.extents[inner], tile.pitches[inner], tile.pitches[outer]
        if not place:
            return [
                f"int digit = ({position}) % {extent};",
                f"const int at0 = {added(*self.rows, *self.kept_run(f'({position})'))};",
            ]
        back = jump - (extent - 1) * step
        return [
            f"const int at{place} = at{place - 1} + (digit == {extent - 1} ? {back} : {step});",
            f"digit = digit == {extent - 1} ? 0 : digit + 1;",
        ]

    def _swizzled(self, address: str) -> str:
        return address if self.tile.swizzle_shift is None else f"kept({address})"
