"""Tensor memory and registers: which loads bring an accumulator to a warp, and how many; or which stores.

  tilewise tmem 'tcgen05.D(f32, m=64, n=64)'
  tilewise tmem 'tcgen05.D(f32, m=64, n=64)' --to 'wgmma.D(f32, n=64)'
  tilewise tmem 'tcgen05.D(f32, m=128, n=256)' --form 32x32b
  tilewise tmem 'tcgen05.D(f32, m=128, n=256)' --to 'S[(128, (2, 128)) : (1@tid_in_wg, (1@wgid, 1@reg))]'
  tilewise tmem 'tcgen05.D(f16, m=64, n=64)' --to 'wgmma.D(f16, n=64)' --json
  tilewise tmem 'tcgen05.A(bf16, m=128, k=64)' --store --to 'S[(128, 64) : (1@tid_in_wg, 1@reg)]'
  tilewise tmem 'S[(128, 32) : (1@TLane, 1@TCol)] + 256@TCol' --dtype f32 --form 16x256b
  tilewise tmem 'tcgen05.D(f32, m=64, n=16)' --to 'wgmma.D(f32, n=16)' --code

LAYOUT is what lies in tensor memory, over TLane and TCol, and cbx of a pair of CTAs: an entry of the
catalogue, which says its type, or any layout with --dtype. All warps of a warpgroup take part; warp w of it
reaches lanes 32 w to 32 w + 31 alone. Every form of tcgen05.ld is tried, with pack::16b where elements lie
in the lower halves of their columns alone: its instructions, the registers of a thread, and the fragment in
which the elements are then. `reg` counts elements of the type, as TCol does.

--to asks for one fragment, over wid_in_wg or warpid, laneid and reg. One of several warpgroups, up to eight,
says them by wgid, or by warpid or tx of the block, and has its elements parted among them: the answer has
each warpgroup's instructions, with its columns. The order of registers costs nothing, for an instruction
names them; the order of lanes is the form's. Where no form fits, the answer has the nearest one, and the
`tilewise shuffle` that would be left.

--store asks for tcgen05.st: --to is then the fragment that there is. A store that would write words that no
element has is left out.

--code prints a device function of CUDA C++ instead: of the form that fits, or of the one with the fewest
instructions. Where warpgroups share, it is one for all of them, by the number of the warp in the block.

Exit code 0 where there is a way, 1 where there is no way.
"""

from __future__ import annotations

from tilewise.core.errors import LayoutError
from tilewise.core.integers import counted, spans
from tilewise.hardware.tcgen05.addresses import WARPS
from tilewise.questions.asking import LAYOUT, asks
from tilewise.questions.report import Report, fields_of, table_lines
from tilewise.questions.texts import Texts, misused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, Unpack

    from tilewise.check.tensor_memory import Plan
    from tilewise.check.tensor_memory.question import Nearest
    from tilewise.check.tensor_memory.wanted import Fit
    from tilewise.check.tensor_memory.ways import Move, Way
    from tilewise.core.layout import Layout
    from tilewise.hardware.catalog.entry import Built
    from tilewise.hardware.tcgen05.loads import Form
    from tilewise.questions.asking import LayoutText, TensorOptions, Type


@asks(
    layout=LAYOUT,
    to="FRAGMENT: the registers that are wanted, as a layout",
    form="F: one form alone, such as 16x256b",
    store="tcgen05.st, from registers to tensor memory",
    code="the function in CUDA C++",
    name="N: its name (load, or store)",
)
def tmem(
    layout: LayoutText,
    dtype: Type | None = None,
    *,
    to: str | Layout | None = None,
    form: str | None = None,
    store: bool = False,
    code: bool = False,
    name: str | None = None,
    **reading: Unpack[TensorOptions],
) -> Report:
    """Return the ways between tensor memory and registers, or the one that fits, or no.

    The report has all `ways`, or with a wanted fragment the `way` that fits, each with its instructions, or
    the `reasons` why none does.

    >>> report = tmem("tcgen05.D(f32, m=64, n=64)", to="wgmma.D(f32, n=64)")
    >>> report.way["form"], len(report.way["instructions"])
    ('16x256b', 1)
    """
    from tilewise.check.tensor_memory import plan

    if name is not None and not code:
        raise misused("--name names a function, and none is printed", "add --code")
    texts = Texts(dtype, **reading)
    wanted = None if to is None else texts.layout(to)
    asked = _asked(texts, layout)
    found = plan(asked, texts.dtype, to=wanted, form=None if form is None else _form(form), store=store)
    fields, text = _fields(found), "\n".join(_lines(found, form is not None))
    if not found.answer:
        return texts.report(fields, text, False, instead=code)
    if not code:
        return texts.report(fields, text)
    from tilewise.codegen.tensor_memory import cuda_source

    source = cuda_source(found, name or "")
    return texts.report(fields | {"source": source}, source)


def _form(text: str) -> Form:
    """Return the form of a name; for an unknown one, the hint names the near one."""
    from tilewise.hardware.catalog.entry import did_you_mean
    from tilewise.hardware.tcgen05.loads import FORMS, Form

    try:
        return Form.of(text)
    except LayoutError as error:
        whole = next((word for word in text.lower().split(".") if word in FORMS), "")
        if whole:
            error.hint = f"the plan says how often, and where it packs: --form {whole}"
        else:
            error.hint = did_you_mean(text, FORMS).strip() or error.hint
        raise


def _asked(texts: Texts, given: LayoutText) -> Layout | Built:
    """Return what lies in tensor memory: an entry with its type where it is a call, else a layout.

    An answer in JSON of the catalogue is the call that it answers; of any other the type is taken, if told.
    """
    from tilewise.hardware.calls import read_call
    from tilewise.hardware.catalog import knowing

    text, told = texts.told_by(given, "dtype", "call")
    call = told.get("call", text)
    if isinstance(call, str):
        name, opens, rest = call.strip().partition("(")
        if opens and name in knowing(name) and rest.find(")") == len(rest) - 1:
            entry, values, named = read_call(call.strip(), texts.let)
            return entry(*values, **named)
    return texts.layout(call)


# -- fields ----------------------------------------------------------------------------------------


def _fields(found: Plan) -> dict[str, Any]:
    words = found.words
    fields = {
        "layout": words.layout,
        "dtype": words.dtype.name,
        "bits": words.taken,
        "store": found.store,
        "warps": words.warps,
        "slabs": words.slabs,
        "columns": {"first": words.columns[0], "count": len(words.columns)},
        "ways": [_way_fields(way) for way in found.ways],
        "left_out": [
            {"form": way.form.name, "packed": way.packed, "reason": way.problem} for way in found.left_out
        ],
    }
    if found.wanted is None:
        return fields
    fields |= {"fits": found.fit is not None, "to": found.wanted}
    if found.fit is not None:
        spare = {"spare": found.fit.spare} if found.fit.spare else {}
        return fields | {"way": _way_fields(found.fit.way, found.fit) | spare}
    fields["reasons"] = [
        {"form": way.name, "differs_in": misfit.stage, "reason": misfit.message, "element": misfit.element}
        for way, misfit in found.misfits
    ]
    near = found.near
    fields["nearest"] = near and {
        "form": near.way.name,
        "fragment": near.way.fragment,
        "exchanges_at_least": near.bound.count,
        "times": near.times,
    }
    hint = _hint(found)
    return fields | ({"hint": hint} if hint else {})


def _way_fields(way: Way, fit: Fit | None = None) -> dict[str, Any]:
    return {
        "form": way.form.name,
        **fields_of(way, "packed", "split", "registers", "rounds", "fragment"),
        "instructions": [
            _move_fields(way, move, fit, number) for number in way.words.groups.numbers for move in way.moves
        ],
    }


def _move_fields(way: Way, move: Move, fit: Fit | None, number: int) -> dict[str, Any]:
    """Return one instruction, as a warpgroup executes it; with its number where the fragment says that."""
    groups, warps = way.words.groups, _warps(way, number)
    lane, column = groups.begin(number)
    whose = {"warpgroup": number, "warps": warps} if groups.named else {}
    return whose | {
        "instruction": move.words,
        "lane": move.lane + lane,
        "column": move.column + column,
        "addresses": [move.address(warp) for warp in warps],
        "registers": _named(move, fit),
        "round": move.round,
    }


def _warps(way: Way, number: int) -> list[int]:
    """Return the warps of a warpgroup that take part, by their numbers in the CTA."""
    return [WARPS * number + warp for warp in way.words.warps]


def _named(move: Move, fit: Fit | None) -> list[int]:
    """Return the registers of the fragment that an instruction names, in its order."""
    registers = range(move.register, move.register + move.registers)
    return [*registers] if fit is None else [fit.registers[register] for register in registers]


# -- for people ------------------------------------------------------------------------------------


def _lines(found: Plan, alone: bool) -> list[str]:
    if found.wanted is None:
        head = [_where(found), *(_table(found.ways) if found.ways else ["no form moves it:"])]
        shown = _moves(found.ways[0], None) if alone and len(found.ways) == 1 else []
        return [*head, *_indented(shown), *_left_out(found)]
    if found.fit is not None:
        return [*_fitted(found.fit)]
    store = found.store
    lines = [
        "no: no store takes it from there" if store else "no: no load brings it there",
        *_indented(table_lines([(way.name, misfit.message) for way, misfit in found.misfits])),
        *_left_out(found),
    ]
    hint = _hint(found)
    return [*lines, *_nearest(found.near, store), *([f"  hint: {hint}"] if hint else [])]


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _where(found: Plan) -> str:
    words = found.words
    first, last = words.columns[0], words.columns[-1]
    lanes = {(0,): "lanes 0 to 15", (1,): "lanes 16 to 31", (0, 1): "all 32 lanes"}[words.slabs]
    columns = f"columns {first} to {last}" if last > first else f"column {first}"
    return f"{words.dtype} in {columns}, {lanes} of {_counted(words.warps)}"


def _table(ways: Sequence[Way]) -> list[str]:
    rows = [("form", "of each warp", "registers", "fragment")]
    for way in ways:
        repeats = [move.repeat for move in way.moves]
        each = [
            f"{repeats.count(n)} * x{n}" if repeats.count(n) > 1 else f"x{n}" for n in dict.fromkeys(repeats)
        ]
        rounds = f" in {way.rounds} rounds" if way.rounds > 1 else ""
        rows.append((way.name, " + ".join(each) + rounds, str(way.registers), str(way.fragment)))
    return _indented(table_lines(rows))


def _fitted(fit: Fit) -> Iterator[str]:
    """Yield how many instructions there are, and each of them."""
    way = fit.way
    rounds = f", in {way.rounds} rounds" if way.rounds > 1 else ""
    many = counted(len(way.moves), "instruction")
    yield f"{way.name}: {many} of each warp, {way.registers} registers of a thread{rounds}"
    yield from _indented(_by_warpgroups(fit) if way.words.groups.named else _moves(way, fit))
    if fit.spare:
        yield f"  registers {spans(fit.spare)} hold nothing that is wanted"


def _by_warpgroups(fit: Fit) -> list[str]:
    """Return the instructions of each warpgroup, or of all that begin at one place."""
    groups, lines = fit.way.words.groups, []
    for begin in dict.fromkeys(map(groups.begin, groups.numbers)):
        numbers = [number for number in groups.numbers if groups.begin(number) == begin]
        warps = [warp for number in numbers for warp in _warps(fit.way, number)]
        several = "s" * (len(numbers) > 1)
        lines.append(f"warpgroup{several} {spans(numbers)}, {_counted(warps)}:")
        lines += _indented(_moves(fit.way, fit, begin))
    return [*lines, f"w is warpid % {WARPS}: a warp reaches lanes 32 w to 32 w + 31 alone, in any warpgroup"]


def _counted(warps: Sequence[int]) -> str:
    return f"warp{'s' * (len(warps) > 1)} {spans(warps)}"


def _moves(way: Way, fit: Fit | None, begin: tuple[int, int] = (0, 0)) -> list[str]:
    """Return each instruction with its address, counted from where a warpgroup begins, and its registers."""
    lines = []
    for move in way.moves:
        further, column = move.lane + begin[0], move.column + begin[1]
        lane = f"lane 32 w{f' + {further}' if further else ''}, column {column}"
        split = "" if move.way.split is None else f" and {column + move.way.split}"
        lines.append(f"{move.words}  {lane}{split}: registers {spans(_named(move, fit))}")
    return lines


def _left_out(found: Plan) -> list[str]:
    return [f"  not {way.name}: {way.problem}" for way in found.left_out]


def _nearest(near: Nearest | None, store: bool) -> list[str]:
    if near is None:
        return []
    order, many = "before the store" if store else "after it", near.bound.count
    times = f"{near.times} times " if near.times > 1 else ""
    left = f"{times}at least {counted(many, 'exchange')} between lanes"
    return [f"  nearest: {near.way.name}, and {order} {left if many else 'steps inside each lane'}"]


def _hint(found: Plan) -> str:
    """Return what to do where nothing fits: exchange inside the warp, or between warps."""
    from tilewise.check.tensor_memory.wanted import of_each_cta

    if found.near is None:
        stages = {misfit.stage for _, misfit in found.misfits}
        if "CTA" in stages:
            return of_each_cta(found.words)
        return "warps reach their own lanes alone: go through shared memory" if "warp" in stages else ""
    ends = [found.near.way.fragment, found.wanted]
    one, other = reversed(ends) if found.store else ends
    return f"tilewise shuffle '{one}' '{other}' --dtype {found.words.counted} has the steps"
