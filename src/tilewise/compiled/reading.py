"""From files to kernels: the texts of one kernel are joined by its name, and the best of them is counted.

Machine code counts where it is at hand, for that is what runs. PTX alone is assembled where a ptxas is found;
else it is counted as written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tilewise.compiled.files import CODE, PTX, Artifact, assembled, disassembled, found
from tilewise.compiled.kernel import ReadKernel, counted
from tilewise.compiled.launch import MOST_THREADS, Launch
from tilewise.compiled.machine import MOST_STEPS
from tilewise.compiled.program import KernelProgram
from tilewise.compiled.texts import programs_of
from tilewise.core.errors import LayoutError

TYPE_CHECKING = False
if TYPE_CHECKING:
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
    return [_kernel(name, found, wanted, told) for name, found in texts.items()]


def _joined(artifacts: Iterable[Artifact], wanted: WantedLaunch) -> dict[str, KernelTexts]:
    """Return the texts by the names of their kernels.

    Triton's cache may have one name many times: a second text of a kind belongs to another kernel, and so do
    all texts of its folder.
    """
    joined: dict[str, KernelTexts] = {}
    labels: dict[tuple[str, str], str] = {}

    def of(name: str, slot: str, folder: str) -> KernelTexts:
        label = labels.get((folder, name), name)
        if label in joined and getattr(joined[label], slot) is not None:
            label = f"{name} in {Path(folder).name or folder}"
        labels[folder, name] = label
        return joined.setdefault(label, KernelTexts())

    for artifact in sorted(artifacts, key=lambda one: one.kind != CODE):
        if artifact.kind == CODE:
            for program in programs_of(artifact.text):
                of(program.name, "code", artifact.folder).code = program
        elif artifact.kind == PTX:
            for program in programs_of(artifact.text):
                texts = of(program.name, "ptx", artifact.folder)
                texts.ptx = program
                _assemble(artifact.text, program, texts, wanted)
        else:
            from tilewise.compiled.ttgir.module import module_of

            module = module_of(artifact.text)
            of(module.name, "module", artifact.folder).module = module
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
    block = wanted.block or program.threads or (texts.ptx.threads if texts.ptx else None)
    if block is None and module is not None:
        block = (module.warps * module.lanes, 1, 1)
    told_notes = []
    if block is None:
        block = (min(program.most_threads or USUAL_THREADS, MOST_THREADS), 1, 1)
        told_notes.append(f"no block is given: {block[0]} threads were run (--block)")
    names = _names(texts)
    args = list(wanted.args) + [None] * (len(program.parameters) - len(wanted.args))
    if len(wanted.args) > len(program.parameters) > 0:
        message = f"{name} takes {len(program.parameters)} arguments, and {len(wanted.args)} are given"
        raise LayoutError("TW801", message, hint="--args 0x7f0000000000,,256 leaves one out")
    for spelled, value in wanted.let.items():
        if spelled not in names:
            known = (
                ", ".join(one for one in names if one)
                or "machine code has no names: --args gives them in order"
            )
            raise LayoutError("TW801", f"{name} has no argument {spelled}", hint=known)
        args[names.index(spelled)] = value
    assumed = {}
    if module is not None:  # Triton says what divides them
        from tilewise.compiled.ttgir.values import arguments_of, given

        for name_of_it, value in given(arguments_of(module.ops), wanted.let).items():
            place = names.index(name_of_it)
            if place < len(args) and args[place] is None:
                args[place] = assumed[name_of_it] = value
    open_ones = [
        names[number] if number < len(names) and names[number] else str(number)
        for number, parameter in enumerate(program.parameters)
        if args[number] is None and parameter.size < 8
    ]
    launch = Launch(wanted.grid or (1, 1, 1), block, args, wanted.shared)
    run = counted(
        program, launch, None if told is None else lambda done, all: told(name, done, all), wanted.steps
    )
    if assumed:
        values = ", ".join(f"{one} = {value}" for one, value in assumed.items())
        told_notes.append(f"{values} assumed, as its divisors allow; --let gives other values")
    if open_ones:
        which = f"arguments {', '.join(open_ones)} are" if open_ones[1:] else f"argument {open_ones[0]} is"
        told_notes.append(f"{which} not given: accesses that need a value are left out (--args, --let)")
    if texts.assembled:
        told_notes.append("assembled from PTX by the ptxas of this machine")
    return ReadKernel(name, program, run, module, {} if module is None else wanted.let, told_notes)


def _names(texts: KernelTexts) -> list[str]:
    """Return the names of the arguments, as TTGIR or PTX has them."""
    if texts.module is not None:
        from tilewise.compiled.ttgir.values import arguments_of

        return list(arguments_of(texts.module.ops))
    program = texts.ptx or texts.code
    return [parameter.name for parameter in program.parameters] if program else []
