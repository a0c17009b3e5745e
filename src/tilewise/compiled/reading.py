"""From files to kernels: the texts of one kernel are joined by its name, and the best of them is counted.

Machine code counts where it is at hand, for that is what runs. PTX alone is assembled where a ptxas is found;
else it is counted as written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from tilewise.compiled.files import CODE, PTX, TTGIR, Artifact, assembled, disassembled, found
from tilewise.compiled.kernel import ReadKernel
from tilewise.compiled.launch import MOST_STEPS, MOST_THREADS, Launch
from tilewise.compiled.texts import programs_of
from tilewise.core.errors import LayoutError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.compiled.program import KernelProgram
    from tilewise.compiled.ttgir.module import Module

USUAL_THREADS = 128
"""The threads of a block where nothing says them."""


@dataclass(frozen=True)
class WantedLaunch:
    """The launch that is wanted: what the caller gave, None elsewhere."""

    grid: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    args: Sequence[int | None] = ()
    let: Mapping[str, int] = field(default_factory=dict)
    shared: int = 0
    architecture: str | None = None
    steps: int = MOST_STEPS
    """Instructions that a lane runs at most."""


@dataclass
class KernelTexts:
    """The texts of one kernel."""

    code: KernelProgram | None = None
    ptx: KernelProgram | None = None
    module: Module | None = None
    assembled: bool = False

    def has(self, kind: str) -> bool:
        """Return True if a text of that kind is there."""
        return {CODE: self.code, PTX: self.ptx, TTGIR: self.module}[kind] is not None


def kernels_of(
    artifacts: Iterable[Artifact],
    wanted: WantedLaunch,
    only: str | None = None,
    told: Callable[[str, int, int], None] | None = None,
) -> list[ReadKernel]:
    """Return the kernels of some texts, each run for the launch that is wanted."""
    texts = _joined(artifacts, wanted)
    if only is not None:
        chosen = [name for name in texts if name == only] or [name for name in texts if only in name]
        if not chosen:
            raise LayoutError(
                "TW802", f"no kernel is called {only}", hint=f"kernels: {', '.join(texts) or 'none'}"
            )
        texts = {name: texts[name] for name in chosen}
    if not texts:
        raise LayoutError(
            "TW802", "the texts have no kernel", hint="a kernel is an .entry, a .text section or a tt.func"
        )
    names = {name: [one for one in _names(found) if one] for name, found in texts.items()}
    _check_let(wanted.let, names)
    return [
        _kernel(name, found, replace(wanted, let=_only(wanted.let, names[name])), told)
        for name, found in texts.items()
    ]


def _only(let: Mapping[str, int], names: Sequence[str]) -> dict[str, int]:
    """Return the values of the arguments that a kernel has."""
    return {name: value for name, value in let.items() if name in names}


def _check_let(let: Mapping[str, int], names: Mapping[str, Sequence[str]]) -> None:
    """Refuse a value for an argument that no kernel has."""
    known = list(dict.fromkeys(chain(*names.values())))
    for given in let:
        if given not in known:
            who = f"{next(iter(names))} has no" if len(names) == 1 else "no kernel has an"
            hint = ", ".join(known) or "machine code has no names: --args gives them in order"
            raise LayoutError("TW801", f"{who} argument {given}", hint=hint)


def _joined(artifacts: Iterable[Artifact], wanted: WantedLaunch) -> dict[str, KernelTexts]:
    """Return the texts by the names of their kernels.

    Triton's cache may have one name many times: a second text of a kind belongs to another kernel, and so do
    all texts of its folder.
    """
    joined: dict[str, KernelTexts] = {}
    labels: dict[tuple[str, str], str] = {}

    def of(name: str, kind: str, folder: str) -> KernelTexts:
        label = labels.get((folder, name), name)
        if label in joined and joined[label].has(kind):
            label = f"{name} in {Path(folder).name or folder}"
        labels[folder, name] = label
        return joined.setdefault(label, KernelTexts())

    for artifact in sorted(artifacts, key=lambda one: one.kind != CODE):
        if artifact.kind == CODE:
            for program in programs_of(artifact.text):
                of(program.name, CODE, artifact.folder).code = program
        elif artifact.kind == PTX:
            for program in programs_of(artifact.text):
                texts = of(program.name, PTX, artifact.folder)
                texts.ptx = program
                _assemble(artifact.text, program, texts, wanted)
        else:
            from tilewise.compiled.ttgir.module import module_of

            module = module_of(artifact.text)
            of(module.name, TTGIR, artifact.folder).module = module
    return joined


def _assemble(text: str, program: KernelProgram, texts: KernelTexts, wanted: WantedLaunch) -> None:
    """Add the machine code of PTX, where the tools are found and no machine code was given."""
    if texts.code is not None or found("ptxas") is None or found("nvdisasm") is None:
        return
    cubin = assembled(text, wanted.architecture or program.target or "sm_90")
    if cubin is not None:
        texts.code = next(programs_of(disassembled(cubin), program.name), None)
        texts.assembled = texts.code is not None


def _kernel(
    name: str, texts: KernelTexts, wanted: WantedLaunch, told: Callable[[str, int, int], None] | None
) -> ReadKernel:
    program, module = texts.code or texts.ptx, texts.module
    if program is None:
        return ReadKernel(name, None, None, module, wanted.let)
    from tilewise.compiled.engines import product_lines
    from tilewise.compiled.run import counted

    block, notes = _block(texts, program, wanted)
    args, more = _arguments(name, texts, program, wanted)
    launch = Launch(wanted.grid or (1, 1, 1), block, args, wanted.shared)
    shown = None if told is None else lambda done, blocks: told(name, done, blocks)
    run = counted(program, launch, shown, wanted.steps)
    notes += more
    if texts.assembled:
        notes.append("assembled from PTX by the ptxas of this machine")
    lines, let = product_lines(texts.ptx), {} if module is None else wanted.let
    return ReadKernel(name, program, run, module, let, notes, lines)


def _block(
    texts: KernelTexts, program: KernelProgram, wanted: WantedLaunch
) -> tuple[tuple[int, int, int], list[str]]:
    """Return the block that is wanted, or that the texts require, or a usual one with a note."""
    block = wanted.block or program.threads or (texts.ptx.threads if texts.ptx else None)
    if block is None and texts.module is not None:
        block = (texts.module.warps * texts.module.lanes, 1, 1)
    if block is not None:
        return block, []
    threads = min(program.most_threads or USUAL_THREADS, MOST_THREADS)
    return (threads, 1, 1), [f"no block is given: {threads} threads were run (--block)"]


def _arguments(
    name: str, texts: KernelTexts, program: KernelProgram, wanted: WantedLaunch
) -> tuple[list[int | None], list[str]]:
    """Return the arguments in order, None for those that are not known, with notes about both."""
    count, notes = len(program.parameters), []
    if len(wanted.args) > count > 0:
        message = f"{name} takes {count} arguments, and {len(wanted.args)} are given"
        raise LayoutError("TW801", message, hint="--args 0x7f0000000000,,256 leaves one out")
    args = [*wanted.args, *[None] * (count - len(wanted.args))]
    names = _names(texts)
    for given, value in wanted.let.items():
        args[names.index(given)] = value
    assumed = []
    for argument, value in _by_divisors(texts, wanted).items():
        place = names.index(argument)
        if place < len(args) and args[place] is None:
            args[place] = value
            assumed.append(f"{argument} = {value}")
    if assumed:
        notes.append(f"{', '.join(assumed)} assumed, as its divisors allow; --let gives other values")
    missing = [
        names[place] if place < len(names) and names[place] else str(place)
        for place, parameter in enumerate(program.parameters)
        if args[place] is None and parameter.size < 8
    ]
    if missing:
        which = f"argument{'s' * (len(missing) > 1)} {', '.join(missing)} {'are' if missing[1:] else 'is'}"
        notes.append(f"{which} not given: accesses that need a value are left out (--args, --let)")
    return args, notes


def _by_divisors(texts: KernelTexts, wanted: WantedLaunch) -> dict[str, int]:
    """Return values of the integer arguments that Triton's divisors allow; nothing without TTGIR."""
    if texts.module is None:
        return {}
    from tilewise.compiled.ttgir.values import arguments_of, given

    return given(arguments_of(texts.module.ops), wanted.let)


def _names(texts: KernelTexts) -> list[str]:
    """Return the names of the arguments, as TTGIR or PTX has them."""
    if texts.module is not None:
        from tilewise.compiled.ttgir.values import arguments_of

        return list(arguments_of(texts.module.ops))
    program = texts.ptx or texts.code
    return [parameter.name for parameter in program.parameters] if program else []
