"""Forms of ldmatrix, stmatrix and movmatrix against the executable model of `naive_matrices`."""

import random
from itertools import product

import pytest
from tests.hardware.naive_matrices import MisalignedError, ldmatrix, movmatrix, stmatrix

from tilewise import LayoutError, Refused
from tilewise.hardware.matrices.forms import Form, forms, seen_as, short
from tilewise.hardware.matrices.kinds import KINDS
from tilewise.hardware.matrices.moves import AFTER, BEFORE, COMES_FROM, comes_from
from tilewise.hardware.mma.fragments import a_fragment, b_fragment, d_fragment

LOADS, STORES = forms("ldmatrix"), forms("stmatrix")
BYTES = 4096


def named(form):
    return f"{form.instruction}.{short(form)}"


def memory_and_addresses(seed, words="random"):
    """Random bytes, and 32 rows of 16 bytes somewhere in them, no two of them the same."""
    chance = random.Random(seed)
    return bytearray(chance.randbytes(BYTES)), [16 * row for row in chance.sample(range(BYTES // 16), 32)]


def load(form, memory, addresses):
    return ldmatrix(memory, addresses, form.count, form.trans, form.shape, form.type)


def bits_at(registers, lane, first, bits):
    """Some bits of the registers of a lane, register 0 the lowest."""
    whole = sum(word << 32 * i for i, word in enumerate(registers[lane]))
    return whole >> first & (1 << bits) - 1


def address_of(form, addresses, matrix, row):
    return addresses[form.addresses.place(matrix, row)["laneid"]]


def indices(form, columns):
    return product(range(form.count), range(form.rows), range(columns))


# -- the layouts are what the instructions do ----------------------------------------------------------


@pytest.mark.parametrize("form", LOADS, ids=named)
def test_a_load_puts_every_element_where_the_layout_says(form):
    memory, addresses = memory_and_addresses(named(form))
    registers = load(form, memory, addresses)
    assert {len(words) for words in registers} == {form.registers}
    for matrix, row, column in indices(form, form.columns):
        place = form.layout.place(matrix, row, column)
        first, last = form.stored_at(column)
        start = address_of(form, addresses, matrix, row)
        stored = int.from_bytes(memory[start : start + 16], "little") >> first & (1 << last - first + 1) - 1
        assert bits_at(registers, place["laneid"], place["reg"] * form.bits, form.bits) == stored


@pytest.mark.parametrize("form", STORES, ids=named)
def test_a_store_takes_every_element_from_where_the_layout_says(form):
    memory, addresses = memory_and_addresses(named(form))
    chance = random.Random(1)
    registers = [[chance.getrandbits(32) for _ in range(form.registers)] for _ in range(32)]
    before = bytes(memory)
    stmatrix(memory, addresses, registers, form.count, form.trans, form.shape)
    written = set()
    for matrix, row, column in indices(form, form.columns):
        place = form.layout.place(matrix, row, column)
        start = address_of(form, addresses, matrix, row) + column * form.bits // 8
        written |= set(range(start, start + form.bits // 8))
        held = bits_at(registers, place["laneid"], place["reg"] * form.bits, form.bits)
        assert int.from_bytes(memory[start : start + form.bits // 8], "little") == held
    assert len(written) == 16 * form.rows * form.count
    assert all(memory[i] == before[i] for i in range(BYTES) if i not in written)


@pytest.mark.parametrize("form", LOADS + STORES, ids=named)
def test_a_form_fills_its_registers_and_reads_each_address_once(form):
    held, lanes = set(), set()
    for index in indices(form, form.columns):
        (place,) = form.layout.places(*index)
        held.add((place["laneid"], place["reg"]))
    for matrix, row in product(range(form.count), range(form.rows)):
        lanes.add(form.addresses.place(matrix, row)["laneid"])
    assert held == set(product(range(32), range(form.registers * 32 // form.bits)))
    assert len(lanes) == form.count * form.rows
    assert lanes | set(form.unread) == set(range(32))
    assert not lanes & set(form.unread)


@pytest.mark.parametrize("form", LOADS, ids=named)
def test_addresses_that_are_not_read_may_be_anything_and_no_other(form):
    memory, addresses = memory_and_addresses(named(form))
    some = [None if lane in form.unread else address for lane, address in enumerate(addresses)]
    assert load(form, memory, some) == load(form, memory, addresses)
    for lane in range(32):
        wrong = [*addresses]
        wrong[lane] += 8
        if lane in form.unread:
            assert load(form, memory, wrong) == load(form, memory, addresses)
        else:
            with pytest.raises(MisalignedError):
                load(form, memory, wrong)


@pytest.mark.parametrize("form", [form for form in LOADS if form.kind.padding], ids=named)
def test_the_end_of_a_padded_row_reaches_no_register(form):
    memory, addresses = memory_and_addresses(named(form))
    before = load(form, memory, addresses)
    used = form.columns * form.kind.stored // 8
    for start in addresses:
        for byte in range(16 - form.kind.padding, 16):
            memory[start + byte] ^= 0xFF
    assert used == 16 - form.kind.padding
    assert load(form, memory, addresses) == before
    memory[addresses[0] + used - 1] ^= 0x80
    assert load(form, memory, addresses) != before


# -- formulas, as the manual has them ------------------------------------------------------------------


@pytest.mark.parametrize("instruction", ["ldmatrix", "stmatrix"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_m8n8_is_as_drawn(instruction, count):
    """A group of four threads has a row, thread 0 its first fragment; matrices in successive registers."""
    plain, turned = Form(instruction, count), Form(instruction, count, trans=True)
    for lane, matrix, half in product(range(32), range(count), range(2)):
        row, column = lane // 4, 2 * (lane % 4) + half
        place = {"laneid": lane, "reg": 2 * matrix + half}
        assert plain.layout.who(**place) == ((matrix, row, column),)
        assert turned.layout.who(**place) == ((matrix, column, row),)
    for lane in range(8 * count):
        assert plain.addresses.who(laneid=lane) == (divmod(lane, 8),)


@pytest.mark.parametrize("count", [1, 2])
def test_m16n16_is_as_drawn_and_as_measured(count):
    """Register 2 j + h of a lane: bytes 4 t .. 4 t + 3 of column g + 8 h, one from each of four rows."""
    form = Form("ldmatrix", count, True, "m16n16", "b8")
    for lane, matrix, half, byte in product(range(32), range(count), range(2), range(4)):
        where = (matrix, 4 * (lane % 4) + byte, lane // 4 + 8 * half)
        assert form.layout.who(laneid=lane, reg=8 * matrix + 4 * half + byte) == (where,)
    for lane in range(16 * count):
        assert form.addresses.who(laneid=lane) == (divmod(lane, 16),)


@pytest.mark.parametrize("type", ["b8x16.b6x16_p32", "b8x16.b4x16_p64"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_m8n16_is_as_drawn(count, type):
    form = Form("ldmatrix", count, False, "m8n16", type)
    for lane, matrix, byte in product(range(32), range(count), range(4)):
        where = (matrix, lane // 4, 4 * (lane % 4) + byte)
        assert form.layout.who(laneid=lane, reg=4 * matrix + byte) == (where,)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_m16n8_stores_what_an_accumulator_is(count):
    """Elements e0 .. e3 of a register are c0 .. c3 of an m16n8: 16 rows become bytes along a row."""
    form, held = Form("stmatrix", count, True, "m16n8", "b8"), d_fragment("m16n8k16", "f32")
    for matrix, m, n in product(range(count), range(16), range(8)):
        place, inside = form.layout.place(matrix, n, m), held.place(m, n)
        assert place["laneid"] == inside["laneid"]
        assert place["reg"] == 4 * matrix + inside["reg"]


# -- other types in the rows ---------------------------------------------------------------------------

PLAIN = [form for form in LOADS if not form.kind.padding]
WIDTHS = {"b1": 1, "s4": 4, "e4m3": 8, "f16": 16, "tf32": 32}


@pytest.mark.parametrize("dtype", WIDTHS)
@pytest.mark.parametrize("form", PLAIN, ids=named)
def test_other_elements_are_where_their_bytes_are(form, dtype):
    bits = WIDTHS[dtype]
    if form.trans and bits > form.bits:
        with pytest.raises(Refused, match="more than one lane"):
            seen_as(form, dtype)
        return
    memory, addresses = memory_and_addresses(named(form))
    registers, layout = load(form, memory, addresses), seen_as(form, dtype)
    assert layout.size == form.count * form.rows * 128 // bits
    for matrix, row, column in indices(form, 128 // bits):
        place = layout.place(matrix, row, column)
        start = address_of(form, addresses, matrix, row)
        element = int.from_bytes(memory[start : start + 16], "little") >> column * bits & (1 << bits) - 1
        assert bits_at(registers, place["laneid"], place["reg"] * bits, bits) == element


def test_a_form_seen_as_its_own_elements_is_itself():
    for form in PLAIN:
        assert seen_as(form, f"b{form.bits}").same(form.layout)


@pytest.mark.parametrize(
    ("form", "dtype", "reason", "witness"),
    [
        (Form("ldmatrix", 1), "f64", "an element of 64 bits to more than one lane", [0, 1]),
        (Form("ldmatrix", 1, True), "f32", "an element of 32 bits to more than one lane", [0, 4]),
        (Form("ldmatrix", 1, True, "m16n16", "b8"), "f16", "of 16 bits to more than one lane", [0, 4]),
    ],
    ids=["f64", "turned", "bytes"],
)
def test_an_element_that_comes_apart_is_refused(form, dtype, reason, witness):
    with pytest.raises(Refused, match=reason) as no:
        seen_as(form, dtype)
    assert no.value.witness["lanes"] == witness
    memory, addresses = bytearray(BYTES), [16 * lane for lane in range(32)]
    size = {"f64": 8, "f32": 4, "f16": 2}[dtype]
    memory[0:size] = b"\xff" * size
    assert [lane for lane, words in enumerate(load(form, memory, addresses)) if any(words)] == witness


def test_elements_of_six_bits_are_unpacked_or_refused():
    for trans in (False, True):
        with pytest.raises(Refused, match="do not fill the 16 bits"):
            seen_as(Form("ldmatrix", 1, trans), "e2m3")
    with pytest.raises(Refused, match="unpacks elements of 6 bits, and e4m3 has 8"):
        seen_as(Form.of("ldmatrix", "m8n16.x1.b6x16_p32"), "e4m3")
    six = Form.of("ldmatrix", "m8n16.x1.b6x16_p32")
    assert seen_as(six, "e2m3") == six.layout


# -- movmatrix -----------------------------------------------------------------------------------------


def test_movmatrix_turns_an_8_by_8():
    chance = random.Random(5)
    words = [chance.getrandbits(32) for _ in range(32)]
    after = movmatrix(words)
    for lane, half in product(range(32), range(2)):
        source, part = comes_from(lane, half)
        assert after[lane] >> 16 * half & 0xFFFF == words[source] >> 16 * part & 0xFFFF
    for row, column in product(range(8), range(8)):
        before, now = BEFORE.place(row, column), AFTER.place(row, column)
        assert (before["laneid"], before["reg"]) == (4 * row + column // 2, column % 2)
        assert COMES_FROM.place(now["laneid"], now["reg"]) == before
        assert now == BEFORE.place(column, row)
    assert movmatrix(after) == words


def test_movmatrix_is_what_a_transposed_load_does():
    assert BEFORE.same(Form("ldmatrix", 1).layout)
    assert AFTER.same(Form("ldmatrix", 1, trans=True).layout)
    memory, addresses = memory_and_addresses("movmatrix")
    plain = [words[0] for words in ldmatrix(memory, addresses)]
    assert movmatrix(plain) == [words[0] for words in ldmatrix(memory, addresses, trans=True)]


def test_the_map_of_movmatrix_is_the_one_that_the_algebra_gives():
    assert COMES_FROM.same(BEFORE.compose(AFTER.inverse()))


# -- operands of mma -------------------------------------------------------------------------------------


def test_x4_loads_a_of_m16n8k16():
    """Matrices 0 .. 3 are the quarters of A, down first: rows 0-7, rows 8-15, then the right half."""
    form, a = Form("ldmatrix", 4), a_fragment("m16n8k16", "f16")
    for m, k in product(range(16), range(16)):
        matrix = m // 8 + 2 * (k // 8)
        assert form.layout.place(matrix, m % 8, k % 8) == a.place(m, k)


def test_x4_loads_two_b_of_m16n8k16():
    """B is [N, K]: a matrix of 8 n by 8 k is loaded as it lies; the second B is 8 further along N."""
    form, b = Form("ldmatrix", 4), b_fragment("m16n8k16", "f16")
    for n, k in product(range(16), range(16)):
        matrix = k // 8 + 2 * (n // 8)
        place, inside = form.layout.place(matrix, n % 8, k % 8), b.place(n % 8, k)
        assert place["laneid"] == inside["laneid"]
        assert place["reg"] == inside["reg"] + 4 * (n // 8)


def test_trans_loads_b_from_rows_along_n():
    """Memory holds [K, N]: row r of a matrix is a k, and .trans turns it."""
    form, b = Form("ldmatrix", 2, True), b_fragment("m16n8k16", "f16")
    for k, n in product(range(16), range(8)):
        assert form.layout.place(k // 8, k % 8, n) == b.place(n, k)


def test_m16n16_loads_a_of_bytes_that_lie_along_m():
    form, a = Form("ldmatrix", 2, True, "m16n16", "b8"), a_fragment("m16n8k32", "e4m3")
    for m, k in product(range(16), range(32)):
        assert form.layout.place(k // 16, k % 16, m) == a.place(m, k)


def test_m16n16_loads_two_b_of_bytes_that_lie_along_n():
    """One in registers 0 and 2, the other in 1 and 3."""
    form, b = Form("ldmatrix", 2, True, "m16n16", "b8"), b_fragment("m16n8k32", "e4m3")
    for which, n, k in product(range(2), range(8), range(32)):
        place, inside = form.layout.place(k // 16, k % 16, 8 * which + n), b.place(n, k)
        register, byte = divmod(inside["reg"], 4)
        assert place["laneid"] == inside["laneid"]
        assert place["reg"] == 4 * (2 * register + which) + byte


def test_m8n16_x4_loads_a_of_six_and_four_bits():
    for words in ("m8n16.x4.b6x16_p32", "m8n16.x4.b4x16_p64"):
        form, a = Form.of("ldmatrix", words), a_fragment("m16n8k32", "e4m3")
        for m, k in product(range(16), range(32)):
            assert form.layout.place(m // 8 + 2 * (k // 16), m % 8, k % 16) == a.place(m, k)


# -- what there is ---------------------------------------------------------------------------------------


def test_every_form_reads_back_from_its_words():
    assert len(set(LOADS + STORES)) == len(LOADS + STORES) == 27
    for form in LOADS + STORES:
        assert Form.of(form.instruction, short(form)) == form
        assert Form.of(form.instruction, str(form)) == form
        assert Form.of(form.instruction, form) == form


def test_what_need_not_be_said():
    assert Form.of("ldmatrix", "m16n16.x2") == Form("ldmatrix", 2, True, "m16n16", "b8")
    assert Form.of("stmatrix", "m16n8.x1") == Form("stmatrix", 1, True, "m16n8", "b8")
    assert Form.of("ldmatrix", "x2", trans=True) == Form("ldmatrix", 2, True)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: Form("ldmatrix", 4.0), "must be an integer"),
        (lambda: Form("ldmatrix", True), "must be an integer"),
        (lambda: Form("ldmatrix", 3), "moves no 3 matrices of m8n8 at once"),
        (lambda: Form("ldmatrix", 4, True, "m16n16", "b8"), "moves no 4 matrices of m16n16"),
        (lambda: Form("ldmatrix", 1, False, "m16n16", "b8"), "as it lies"),
        (lambda: Form("ldmatrix", 1, True, "m8n16", "b8x16.b4x16_p64"), "moves m8n16 of .* transposed"),
        (lambda: Form("stmatrix", 1, True, "m16n16", "b8"), "there is no stmatrix of m16n16 and b8"),
        (lambda: Form("stmatrix", 1, False, "m16n8", "b8"), "as it lies"),
        (lambda: Form("movmatrix", 1), "moves no matrices"),
        (lambda: Form.of("ldmatrix", "x8"), "moves no 8 matrices"),
        (lambda: Form.of("ldmatrix", "y4"), "is no form of ldmatrix"),
        (lambda: Form.of("ldmatrix", ""), "is no form of ldmatrix"),
        (lambda: Form.of("ldmatrix", "stmatrix.x4"), "is no form of ldmatrix"),
        (lambda: Form.of("ldmatrix", "m8n16.x1"), "needs a type"),
        (lambda: Form.of("ldmatrix", "m8n8.x1.b8"), "there is no ldmatrix of m8n8 and b8"),
        (lambda: Form.of("movmatrix", "x1"), "is no form of movmatrix"),
    ],
)
def test_what_there_is_not(made, message):
    with pytest.raises(LayoutError, match=message) as no:
        made()
    assert no.value.hint


@pytest.mark.parametrize("words", ["", "ldmatrix", "ldmatrix.4", "m16n16.b6", "nothing like it"])
def test_the_hint_names_three_forms_and_where_all_are(words):
    with pytest.raises(LayoutError) as no:
        Form.of("ldmatrix", words)
    such, listed = no.value.hint.split("such as ")[1].split("; ")
    assert len(set(such.split())) == 3
    assert all(short(Form.of("ldmatrix", word)) == word for word in such.split())
    assert listed == f"tilewise catalog ldmatrix lists all {len(forms('ldmatrix'))}"


def test_a_row_of_the_table_that_contradicts_itself_is_none():
    kind = KINDS[0]
    with pytest.raises(ValueError, match="does not hold together"):
        type(kind)("ldmatrix", "m8n8", "b16", 8, 16, 16, 16, (1,), (False,), kind.needs)


@pytest.mark.parametrize("column", [8, -1])
def test_no_bits_of_an_element_past_the_row(column):
    with pytest.raises(LayoutError, match=r"is outside 0\.\.7"):
        Form("ldmatrix", 4).stored_at(column)
