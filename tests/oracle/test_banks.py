"""Bank conflicts and sectors as tensor-layouts and Triton count them, held against the definition.

Both count by rules of their own. Each rule is written here as a plain loop that gives their answer in every
case, so that what they get wrong is known exactly: where that loop and the definition part. Each way of
parting has a name and an example.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from signal import SIGABRT

import pytest
from tests.oracle import triton_claims

from tilewise.check.banks import counted
from tilewise.check.coalesce import counted as transferred

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

CASES = 1000
LANES = range(32)
SCRIPT = Path(__file__).with_name("triton_banks.py")


def words_of_banks(addresses):
    """{bank: the different words that these bytes are in}."""
    found = {}
    for address in addresses:
        found.setdefault(address // 4 % 32, set()).add(address // 4)
    return found


# -- tensor-layouts --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tensor_layouts():
    pytest.importorskip("tensor_layouts", reason="tensor-layouts is not installed")
    import tensor_layouts.analysis

    return tensor_layouts


@dataclass(frozen=True)
class Strided:
    """Lane bit i moves by strides[i] elements; each lane asks for neighbours; a swizzle on top."""

    size: int
    elements: int
    strides: tuple[int, ...]
    swizzle: tuple[int, int, int]

    @property
    def bytes(self):
        return self.size * self.elements

    @property
    def addresses(self):
        return [self.size * self.swizzled(self.linear(lane)) for lane in LANES]

    def linear(self, lane):
        return sum(stride for bit, stride in enumerate(self.strides) if lane >> bit & 1)

    def swizzled(self, x):
        b, m, s = self.swizzle
        return x ^ (x >> s & ((1 << b) - 1) << m)

    def layout(self, peer):
        """As they write it: mode 0 has the lanes, mode 1 the elements of one."""
        plain = peer.Layout(((2,) * 5, self.elements), (self.strides, 1))
        return peer.compose(peer.Swizzle(*self.swizzle), plain)


def strided_cases():
    rng = Random(6)
    for _ in range(CASES):
        size = rng.choice((1, 2, 4, 8))
        elements = rng.choice([n for n in (1, 2, 4, 8, 16) if size * n <= 16])
        row = elements * rng.choice((0, 1, 2, 4, 8, 9, 16, 17, 32, 48, 64))
        strides = tuple(row * 2**i if rng.random() < 0.5 else elements * 2**i for i in range(5))
        finest = elements.bit_length() - 1
        b = rng.randrange(4)
        yield Strided(size, elements, strides, (b, rng.randrange(finest, finest + 3), b + rng.randrange(3)))


@pytest.fixture(scope="module")
def strided_said(tensor_layouts):
    """Cases, each with what it says of the warp."""
    analysis = tensor_layouts.analysis
    return [
        (case, analysis.bank_conflicts(case.layout(tensor_layouts), element_bytes=case.size))
        for case in strided_cases()
    ]


def test_tensor_layouts_counts_a_warp_as_one_phase(strided_said):
    """Its rule: all lanes and all their elements at once, and of an element the word it begins in."""
    for case, said in strided_said:
        starts = [a + case.size * i for a in case.addresses for i in range(case.elements)]
        assert said["max_ways"] == max(map(len, words_of_banks(starts).values())), case


def test_tensor_layouts_is_right_up_to_four_bytes_a_lane(strided_said):
    for case, said in strided_said:
        if case.bytes <= 4:
            assert said["max_ways"] == counted("ld", case.bytes, case.addresses).wavefronts, case


def test_tensor_layouts_knows_no_phases(strided_said):
    """Wider than 4 bytes it finds conflicts that do not exist, and never misses one."""
    wide = [
        (said["conflict_free"], counted("st", case.bytes, case.addresses).excess == 0)
        for case, said in strided_said
        if case.bytes > 4
    ]
    assert all(free for theirs, free in wide if theirs)
    assert sum(free and not theirs for theirs, free in wide) > 20


def test_tensor_layouts_asked_a_phase_at_a_time_is_right(tensor_layouts):
    """With the size of a phase as its argument it has the definition's answer for stores."""
    for case in islice(strided_cases(), CASES // 4):
        said = tensor_layouts.analysis.per_group_bank_conflicts(
            case.layout(tensor_layouts), element_bytes=case.size, group_size=min(32, 128 // case.bytes)
        )
        phases = counted("st", case.bytes, case.addresses).phases
        assert [group["max_ways"] for group in said["groups"]] == [phase.wavefronts for phase in phases], case


@dataclass(frozen=True)
class Wrong:
    """An access that tensor-layouts misjudges: modes of lanes and of 4-byte elements, and both answers."""

    operation: str
    modes: tuple[object, object]
    theirs: int
    ways: int
    wavefronts: int


TENSOR_LAYOUTS_WRONG = {
    "16 bytes a lane, in a row": Wrong("ld", ((32, 4), (4, 1)), theirs=4, ways=1, wavefronts=4),
    "8 bytes a lane, in a row": Wrong("ld", ((32, 2), (2, 1)), theirs=2, ways=1, wavefronts=2),
    "16 bytes, lanes in pairs": Wrong("ld", (((2, 16), 4), ((0, 4), 1)), theirs=2, ways=1, wavefronts=2),
    "a column for each phase": Wrong("st", (((8, 4), 4), ((32, 4), 1)), theirs=8, ways=8, wavefronts=32),
}


@pytest.mark.parametrize("case", TENSOR_LAYOUTS_WRONG)
def test_what_tensor_layouts_gets_wrong(tensor_layouts, case):
    wrong = TENSOR_LAYOUTS_WRONG[case]
    layout = tensor_layouts.Layout(*wrong.modes)
    assert tensor_layouts.analysis.bank_conflicts(layout, element_bytes=4)["max_ways"] == wrong.theirs
    elements = wrong.modes[0][1]
    request = counted(wrong.operation, 4 * elements, [4 * layout(lane, 0) for lane in LANES])
    assert max(phase.wavefronts for phase in request.phases) == wrong.ways
    assert request.wavefronts == wrong.wavefronts


def test_tensor_layouts_takes_two_instructions_for_one(tensor_layouts):
    """A lane's two floats, a row apart, are two loads without a conflict; it sees one access, 2 ways."""
    layout = tensor_layouts.Layout((32, 2), (1, 32))
    assert tensor_layouts.analysis.bank_conflicts(layout, element_bytes=4)["max_ways"] == 2
    rows = [counted("ld", 4, [4 * lane + 128 * row for lane in LANES]) for row in range(2)]
    assert [row.excess for row in rows] == [0, 0]


def test_tensor_layouts_has_no_word_for_inactive_lanes(tensor_layouts):
    """Lanes 0, 8, 16 and 24 alone have a phase each; given as 4 threads they seem to collide."""
    layout = tensor_layouts.Layout((4, 4), (32, 1))
    assert tensor_layouts.analysis.bank_conflicts(layout, element_bytes=4)["max_ways"] == 4
    alone = [16 * lane if lane % 8 == 0 else None for lane in LANES]
    assert [address for address in alone if address is not None] == [4 * layout(i, 0) for i in range(4)]
    assert counted("st", 16, alone).excess == 0


def test_tensor_layouts_counts_sectors_from_address_0(tensor_layouts):
    for case in islice(strided_cases(), CASES // 4):
        said = tensor_layouts.analysis.segment_analysis(case.layout(tensor_layouts), element_bytes=case.size)
        own = transferred("ld", case.bytes, case.addresses)
        assert min(case.addresses) == 0
        assert (said["segments"], said["cache_lines"]) == (own.sectors, own.lines), case


def test_tensor_layouts_moves_global_addresses_to_a_line(tensor_layouts):
    """The second row of 33 floats begins at byte 132: its 32 are in 2 lines, of which it sees 1."""
    rows = tensor_layouts.Layout(((32, 2),), ((1, 33),))
    said = tensor_layouts.analysis.per_group_coalescing(rows, element_bytes=4)
    assert [group["transactions"] for group in said["groups"]] == [1, 1]
    asked = [[4 * rows(32 * row + lane) for lane in LANES] for row in range(2)]
    assert [transferred("ld", 4, addresses).lines for addresses in asked] == [1, 2]


# -- Triton ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Linear:
    """Lane bit i flips the bits columns[i] of an address in elements; each lane asks for neighbours."""

    bits: int
    elements: int
    columns: tuple[int, ...]
    registers: tuple[int, ...]
    """The bits of the address that the other bits of the tile's index flip."""

    @property
    def bytes(self):
        return self.bits * self.elements // 8

    @property
    def addresses(self):
        """Of each lane, in bytes."""
        return [self.bits // 8 * x for x in images(self.columns)]

    def asked(self):
        """Return Triton's case: registers and lanes hold elements of their own, the memory mixes them."""
        vector = [1 << i for i in range(self.elements.bit_length() - 1)]
        columns = [*vector, *filter(None, self.columns), *self.registers]
        at = {offset: x for x, offset in enumerate(images(columns))}
        lanes = iter(1 << i for i in range(len(vector), len(columns)))
        held = [next(lanes) if column else 0 for column in self.columns]
        return {
            "bits": self.bits,
            "registers": [*vector, *lanes],
            "lanes": held,
            "offsets": [at[1 << i] for i in range(len(columns))],
        }


def images(columns):
    """Of 0, 1, 2, ...: the XOR of the columns of their bits."""
    found = [0]
    for column in columns:
        found += [x ^ column for x in found]
    return found


def linear_case(rng):
    """Any linear addresses: rows and columns of tiles under any swizzle, and lanes that ask for the same."""
    bits = rng.choice((8, 16, 32, 64))
    elements = rng.choice([n for n in (1, 2, 4, 8, 16) if n * bits <= 128])
    vector = elements.bit_length() - 1
    width = max(rng.randrange(8, 11), (1024 // bits).bit_length() - 1, vector + 5)
    mixed, pairs = rng.random() < 0.5, rng.random() < 0.25
    while True:
        columns = [column(rng, vector, width, mixed) if rng.random() < 0.9 else 0 for _ in range(5)]
        if pairs:
            columns[rng.randrange(2)] = 0
        rest = width - vector - len(list(filter(None, columns)))
        others = [column(rng, vector, width, mixed=True) for _ in range(rest)]
        whole = [1 << i for i in range(vector)] + list(filter(None, columns)) + others
        # a register that continues the vector would widen it
        if len(set(images(whole))) == 1 << width and (elements * bits == 128 or 1 << vector not in others):
            return Linear(bits, elements, tuple(columns), tuple(others))


def column(rng, low, high, mixed):
    """A bit from low to high, and by chance others beside it."""
    chance = 0.3 if mixed else 0
    return 1 << rng.randrange(low, high) ^ sum(1 << i for i in range(low, high) if rng.random() < chance)


def triton_said(cases):
    """Excess wavefronts of a phase, case by case."""
    if why := triton_claims.missing():
        pytest.skip(why)
    given = json.dumps(cases)
    done = subprocess.run([sys.executable, SCRIPT], input=given, capture_output=True, text=True, check=True)
    return [said["excess"] for said in json.loads(done.stdout)]


@pytest.fixture(scope="module")
def linear_cases():
    """Cases, each with what Triton says."""
    rng = Random(60)
    cases = [linear_case(rng) for _ in range(CASES)]
    return list(zip(cases, triton_said([case.asked() for case in cases]), strict=True))


def excess_of_a_phase(operation, case):
    return max(phase.wavefronts for phase in counted(operation, case.bytes, case.addresses).phases) - 1


def test_triton_counts_multiples_of_128_bytes(linear_cases):
    """Its rule: of the lanes of a phase, those whose addresses differ by whole rows of the banks."""
    for case, said in linear_cases:
        phase = case.addresses[: min(32, 128 // case.bytes)]
        assert said == len({address for address in phase if address % 128 == 0}) - 1, case


def test_triton_is_right_of_stores_from_a_word_on(linear_cases):
    for case, said in linear_cases:
        if case.bytes >= 4:
            assert said == excess_of_a_phase("st", case), case


def test_triton_misses_conflicts_below_the_word(linear_cases):
    """Elements of 1 and 2 bytes that are swizzled by their own width: it finds too few, never too many."""
    narrow = [(said, excess_of_a_phase("st", case)) for case, said in linear_cases if case.bytes < 4]
    assert all(said <= excess for said, excess in narrow)
    assert sum(said < excess for said, excess in narrow) > 10


def test_triton_knows_no_pairs(linear_cases):
    """Where it and the definition part on loads of 4 bytes and more, the lanes ask in pairs."""
    parted = [
        case for case, said in linear_cases if case.bytes >= 4 and said != excess_of_a_phase("ld", case)
    ]
    assert all(counted("ld", case.bytes, case.addresses).merged for case in parted)
    assert parted


def test_a_swizzle_below_the_word():
    """32 rows of 64 f16, column c of row r at c ^ r: rows share banks in pairs, which it does not see."""
    rows = Linear(16, 1, tuple(65 << i for i in range(5)), tuple(1 << i for i in range(6)))
    assert triton_said([rows.asked()]) == [0]
    assert counted("ld", 2, rows.addresses).wavefronts == 2


def test_rows_that_pairs_of_lanes_ask_for():
    """16 vectors of 16 bytes, each for two lanes: 2 wavefronts, where it thinks of 4 phases."""
    case = Linear(32, 4, (0, 4, 8, 16, 32), (64,))
    assert triton_said([case.asked()]) == [0]
    assert counted("ld", 16, case.addresses).wavefronts == 2
    assert counted("st", 16, case.addresses).wavefronts == 4


def test_triton_has_no_answer_for_padding():
    """Rows of 32 words and one more, the oldest cure of all, end the process."""
    case = {"bits": 32, "registers": [], "lanes": [1, 2, 4, 8, 16], "padding": [32, 1]}
    with pytest.raises(subprocess.CalledProcessError) as ended:
        triton_said([case])
    assert ended.value.returncode == -SIGABRT
    assert counted("ld", 4, [132 * lane for lane in LANES]).excess == 0


def test_triton_has_no_answer_for_less_than_a_row_of_banks():
    """Nor have vectors of a tile below 128 bytes one."""
    case = {"bits": 16, "registers": [1, 2, 4], "lanes": [8, 16, 0, 0, 0], "offsets": [1, 2, 4, 8, 16]}
    with pytest.raises(subprocess.CalledProcessError) as ended:
        triton_said([case])
    assert ended.value.returncode == -SIGABRT
    assert counted("ld", 16, [16 * (lane % 4) for lane in LANES]).excess == 0
