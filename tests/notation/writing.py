"""Texts of layouts as people write them, and as their typing errors leave them; seeded."""

from tilewise import LayoutError

LET = {"K": 64, "M": 48, "o": 2, "S": 4, "N_2": 8}
STORAGE = ("buf",)
ALPHABET = "()[]<>:,@+-*/=. \n0123456789oSROKMx_bw∘?…é＋"

CALLS = (
    ("wgmma.A", (("dtype", "e4m3"),)),
    ("wgmma.D", (("dtype", "f16"), ("n", 8))),
    ("wgmma.atom", (("mode", "128B"), ("major", "mn"), ("dtype", "bf16"))),
    ("wgmma.atom", (("mode", "none"), ("major", "k"), ("dtype", "e2m1"))),
    ("wgmma.figure", (("number", 167),)),
    (
        "wgmma.smem",
        (("operand", "B"), ("major", "k"), ("mode", "32B"), ("dtype", "tf32"), ("rows", 16), ("k", 64)),
    ),
    ("wgmma.canonical", (("mode", "64B"), ("major", "k"), ("dtype", "f16"), ("m", 1), ("k", 2))),
    ("mma.SFA", (("kind", "mxf4nvf4"), ("scale", "4X"), ("dtype", "ue4m3"), ("byte", 0), ("thread", 1))),
)

_AXES = ("m", "m", "m", "laneid", "reg", "warpid", "TLane", "gpuid_x", "o", "S", "x", "buf")
_STORAGE_AXES = ("m", "m", "m", "reg", "TCol", "buf")


def text(rng):
    """A layout in either dialect."""
    return spelled(rng, cute(rng) if rng.random() < 0.35 else whole(rng))


def spelled(rng, tokens):
    """The tokens with white space between them, here and there, and where two words would join."""
    tight = rng.random() < 0.3
    result = ""
    for token in tokens:
        gap = "" if tight else rng.choice(("", "", " ", "  ", "\n", "\t", " \r\n"))
        if result and is_word(result[-1]) and is_word(token[0]) and not gap:
            gap = " "
        result += gap + token
    return result


def is_word(character):
    return character.isalnum() or character == "_"


def mutated(rng, source):
    """The text after one to three typing errors."""
    characters = list(source)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        at = rng.randrange(len(characters) + 1)
        here = characters[at : at + 1]
        kind = rng.choice(("delete", "double", "swap", "insert", "replace", "move"))
        if kind == "delete":
            characters[at : at + 1] = []
        elif kind == "double":
            characters[at:at] = here
        elif kind == "swap":
            characters[at : at + 2] = characters[at : at + 2][::-1]
        elif kind == "insert":
            characters.insert(at, rng.choice(ALPHABET))
        elif kind == "replace":
            characters[at : at + 1] = rng.choice(ALPHABET)
        else:
            piece = characters[at : at + rng.randint(1, 8)]
            target = rng.randrange(len(characters) + 1)
            characters[target:target] = piece
    return "".join(characters)


# -- the notation ----------------------------------------------------------------------------------


def whole(rng):
    """A shard behind swizzles and an outer offset, with copies and offsets at every level."""
    storage = rng.choice(_STORAGE_AXES)
    inner = grouped(rng, shard(rng, calls=storage == "m"))
    for _ in range(rng.choice((0, 0, 0, 1, 1, 2))):
        inner = grouped(rng, [*swizzle(rng, storage), rng.choice("o∘@"), *inner])
    if rng.random() < 0.1:
        inner = grouped(rng, ["O", "[", *vector(rng), "]", rng.choice("o∘@"), *inner])
    return [*addends(rng, before=True), *inner, *addends(rng)]


def grouped(rng, tokens):
    if rng.random() < 0.5:
        return tokens
    return ["(", *addends(rng, before=True), *tokens, *addends(rng), ")"]


def shard(rng, calls=False):
    if calls and rng.random() < 0.2:
        return call(rng)
    shape = nested(rng)
    if rng.random() < 0.1:
        return ["S", "[", *listed([number(rng, extent(rng)) for _ in range(rng.randint(1, 3))]), "]"]
    if rng.random() < 0.05:
        return ["S", "[", "(", ")", "]"]
    strides = tuple_of(rng, shape, lambda r, _: vector(r))
    return ["S", "[", *tuple_of(rng, shape, number), ":", *strides, "]"]


def call(rng):
    """A layout of the catalogue, its values in order or by name."""
    name, values = rng.choice(CALLS)
    by_name = rng.randint(0, len(values))
    parts = []
    for at, (parameter, value) in enumerate(values):
        spelled = number(rng, value) if isinstance(value, int) else [value]
        parts.append(spelled if at < by_name else [parameter, "=", *spelled])
    tail = parts[by_name:]
    rng.shuffle(tail)
    engine, entry = name.split(".")
    return [
        engine,
        ".",
        entry,
        "(",
        *listed(parts[:by_name] + tail),
        *([","] if rng.random() < 0.1 else []),
        ")",
    ]


def addends(rng, before=False):
    """Copies and offsets with their signs, to the left or to the right of a layout."""
    tokens = []
    for _ in range(rng.choice((0, 0, 0, 1, 1, 2))):
        part, signs = addend(rng)
        sign = rng.choice(signs)
        if not before:
            tokens += [sign, *part]
        else:
            tokens = [*part, "+", *tokens] if not tokens or tokens[0] != "-" else [*part, *tokens]
    return tokens


def addend(rng):
    kind = rng.random()
    if kind < 0.35:
        shape = [rng.choice((1, 2, 3, 4)) for _ in range(rng.randint(1, 2))]
        strides = tuple_of(rng, shape, lambda r, _: vector(r))
        return ["R", "[", *tuple_of(rng, shape, number), ":", *strides, "]"], "+"
    if kind < 0.5:
        return ["O", "[", *listed([vector(rng) for _ in range(rng.randint(1, 2))]), "]"], "+-"
    if kind < 0.6:
        return ["(", *vector(rng), ")"], "+-"
    return term(rng), "+-"


def swizzle(rng, axis):
    if rng.random() < 0.2 and axis == "m":
        mode = rng.choice(("SWIZZLE_32B", "SWIZZLE_64B", "SWIZZLE_128B", "SWIZZLE_NONE"))
        return [mode, *rng.choice((["(", "bf16", ")"], ["[", "e4m3", "]"], ["(", "f32", ")"]))]
    bits = rng.randint(0, 3)
    numbers = [bits, rng.randint(0, 4), rng.choice((1, -1)) * rng.randint(bits, 4)]
    three = listed([number(rng, value) for value in numbers])
    if axis == "m":
        return ["Swizzle", "<", *three, ">"] if rng.random() < 0.7 else ["Swizzle", "(", *three, ")"]
    if rng.random() < 0.3:
        return ["Swizzle", "(", *three, ",", "axis", "=", axis, ")"]
    return ["Swizzle", "<", *three, ">", "@", axis]


def nested(rng, depth=0):
    """A shape: lists of extents and lists."""
    return [
        nested(rng, depth + 1) if depth < 3 and rng.random() < 0.2 else extent(rng)
        for _ in range(rng.randint(1, 3))
    ]


def extent(rng):
    return rng.choice((1, 2, 2, 3, 4, 5, 8, 16))


def tuple_of(rng, shape, leaf):
    """A tuple in the nesting of the shape, by Python's rules for parentheses and commas."""
    if isinstance(shape, int):
        plain = leaf(rng, shape)
        return ["(", *plain, ")"] if rng.random() < 0.1 else plain
    parts = [tuple_of(rng, inner, leaf) for inner in shape]
    if len(parts) == 1:
        return ["(", *parts[0], ",", ")"]
    return ["(", *listed(parts), *([","] if rng.random() < 0.1 else []), ")"]


def listed(parts):
    tokens = [*parts[0]]
    for part in parts[1:]:
        tokens += [",", *part]
    return tokens


def vector(rng):
    tokens = term(rng)
    for _ in range(rng.choice((0, 0, 0, 0, 1, 2))):
        tokens += [rng.choice("+-"), *term(rng)]
    return tokens


def term(rng):
    steps = number(rng, rng.choice((0, 1, 2, 3, 4, 8, 16, 64, 100, -1, -8)))
    return steps if rng.random() < 0.4 else [*steps, "@", rng.choice(_AXES)]


def number(rng, value):
    """One of the spellings of an integer."""
    names = [name for name, known in LET.items() if known == value]
    kind = rng.random()
    if names and kind < 0.3:
        return [rng.choice(names)]
    if value < 0:
        return ["-", str(-value)]
    if kind < 0.4:
        return [f"0x{value:x}"]
    if kind < 0.45:
        return [str(3 * value), "//", "3"]
    if kind < 0.5 and value % 2 == 0:
        return ["2", "*", str(value // 2)]
    if kind < 0.58 and value:
        return compound(rng, value)
    return ["+", str(value)] if kind < 0.61 else [str(value)]


def compound(rng, value):
    """A sum in parentheses, or a quotient rounded up or down."""
    by = rng.randint(1, 5)
    kind = rng.random()
    if kind < 0.3:
        rest = ["-", str(rng.randrange(by))] if by > 1 and rng.random() < 0.5 else []
        return ["ceildiv", "(", str(by * value), *rest, ",", str(by), ")"]
    if kind < 0.6:
        return ["floordiv", "(", str(by * value + rng.randrange(by)), ",", *number(rng, by), ")"]
    summands = [*number(rng, value - by), "+", *number(rng, by)]
    if value % 2 == 0 and kind < 0.8:
        return ["(", str(value // 2 - by), "+", str(by), ")", "*", "2"]
    return ["(", *summands, ")"]


# -- CuTe's dialect --------------------------------------------------------------------------------


def cute(rng):
    shape = nested(rng)
    tokens = []
    for _ in range(rng.choice((0, 0, 1, 2))):
        tokens += [*cute_swizzle(rng), rng.choice("o∘")]
    if rng.random() < (0.3 if tokens else 0.1):
        attached = bool(tokens) and rng.random() < 0.5
        tokens = tokens[:-1] if attached else tokens
        address = rng.choice(("unset", "nullptr", "0x1000", "64"))
        tokens += [
            "_" * attached + rng.choice(("smem_ptr", "gmem_ptr")),
            "[",
            rng.choice(("8b", "16b", "32b")),
        ]
        tokens += ["]", "(", address, ")", "o"]
        for _ in range(rng.choice((0, 0, 1))):
            tokens += [*cute_swizzle(rng), rng.choice("o∘")]
    if rng.random() < 0.3:
        tokens += [*cute_number(rng, rng.choice((0, 1, 5, -3))), "o"]
    if len(shape) == 1 and isinstance(shape[0], int) and rng.random() < 0.5:
        return [*tokens, *cute_number(rng, shape[0]), ":", *cute_stride(rng, shape[0])]
    return [*tokens, *cute_tuple(rng, shape, cute_sum), ":", *cute_tuple(rng, shape, cute_inner_stride)]


def cute_swizzle(rng):
    bits = rng.randint(0, 3)
    numbers = (bits, rng.randint(2, 4), rng.choice((1, -1)) * rng.randint(bits, 4))
    return [rng.choice(("Sw", "S", "Swizzle")), "<", *listed([cute_number(rng, n) for n in numbers]), ">"]


def cute_tuple(rng, shape, leaf):
    if isinstance(shape, int):
        return leaf(rng, shape)
    return ["(", *listed([cute_tuple(rng, inner, leaf) for inner in shape]), ")"]


def cute_sum(rng, value):
    """Return a number between parentheses: alone, or as a sum, a product or a quotient."""
    form = rng.choice(("alone", "alone", "alone", "sum", "product", "quotient", "rounded"))
    other = rng.choice((2, 3, 8))
    if form == "sum":
        return [*cute_number(rng, value - other), "+", *cute_number(rng, other)]
    if form == "product" and value % other == 0:
        return [*cute_number(rng, value // other), "*", *cute_number(rng, other)]
    if form == "quotient":
        return [*cute_number(rng, value * other), "//", *cute_number(rng, other)]
    if form == "rounded":
        return ["ceildiv", "(", str(value * other - 1), ",", str(other), ")"]
    return cute_number(rng, value)


def cute_number(rng, value):
    if value < 0:
        return ["-", *cute_number(rng, -value)]
    return [rng.choice((str(value), str(value), f"_{value}", f"0x{value:x}"))]


def cute_stride(rng, _):
    steps = cute_number(rng, rng.choice((0, 1, 2, 8, 64, -4)))
    return in_mode(rng, steps)


def cute_inner_stride(rng, _):
    return in_mode(rng, cute_sum(rng, rng.choice((0, 1, 2, 8, 64, -4))))


def in_mode(rng, steps):
    """Return steps, or steps along a mode."""
    return [*steps, "@", str(rng.randint(0, 2))] if rng.random() < 0.3 else steps


def outcome(reader, source, refusals=(LayoutError,)):
    """Return what a reader makes of a text: the layout, or None where it refuses."""
    try:
        return reader(source)
    except refusals:
        return None
