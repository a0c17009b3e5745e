"""ldmatrix, stmatrix and movmatrix: matrices between shared memory and the registers of a warp.

`hardware.matrices` has tables that a device has confirmed: the lane that supplies the address of a row, and
the lane that holds an element. Only the moves are here.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from tilewise.core.errors import LayoutError
from tilewise.hardware.matrices.forms import Form, short
from tilewise.hardware.matrices.kinds import ROW_BYTES
from tilewise.hardware.matrices.moves import AFTER, BEFORE, OPCODE
from tilewise.simulate.faults import Step
from tilewise.simulate.memory import NOBODY, Memory
from tilewise.simulate.numbers import cut, joined
from tilewise.simulate.registers import Registers
from tilewise.simulate.warp import Addresses, by_lane
from tilewise.tables import table

Array = np.ndarray[Any, Any]


def ldmatrix(
    memory: Memory, form: Form | str, addresses: Addresses, *, trans: bool = False, warp: int = 0
) -> Registers:
    """Return the registers after an ldmatrix, whose lanes supply the addresses of rows.

    The padding bytes of forms that unpack are not read.

        requires  an address from every lane that the form reads one of, a multiple of 16

    >>> shared = Memory(512)
    >>> shared.put(np.arange(256), "u16")
    >>> rows = [16 * lane for lane in range(32)]
    >>> [hex(word) for word in ldmatrix(shared, "x2", rows).words[0, 5].tolist()]
    ['0xb000a', '0x4b004a']
    >>> [hex(word) for word in ldmatrix(shared, "x1.trans", rows).words[0, 5].tolist()]
    ['0x190011']
    """
    this, step = _asked("ldmatrix", form, trans, warp)
    data = memory.read(step, _rows(this, addresses, step), ROW_BYTES - this.kind.padding, aligned=ROW_BYTES)
    return Registers.holding(cut(data, this.kind.stored), this.layout, f"u{this.bits}")


def stmatrix(
    memory: Memory,
    form: Form | str,
    addresses: Addresses,
    registers: Registers,
    *,
    trans: bool = False,
    warp: int = 0,
) -> None:
    """Write matrices that lie in registers to the rows whose addresses the lanes supply.

        requires  as for ldmatrix; rows of one address with the same bytes

    >>> shared, rows = Memory(512), [16 * lane for lane in range(8)]
    >>> stmatrix(shared, "x1", rows, Registers.of(np.arange(32)[:, None] * 0x10001))
    >>> shared.take("u16", (2, 8)).tolist()
    [[0, 0, 1, 1, 2, 2, 3, 3], [4, 4, 5, 5, 6, 6, 7, 7]]
    """
    this, step = _asked("stmatrix", form, trans, warp)
    if registers.count != this.registers or registers.warps != 1:
        raise LayoutError("TW203", f"{this} takes {this.registers} registers of one warp, not {registers}")
    elements = registers.numbers(this.layout, f"u{this.bits}", step=step)
    rows = elements.reshape(this.count * this.rows, this.columns)
    memory.write(step, _rows(this, addresses, step), joined(rows, this.bits), aligned=ROW_BYTES)


def movmatrix(registers: Registers, *, warp: int = 0) -> Registers:
    """Return an 8 x 8 matrix of 16-bit elements, transposed: movmatrix.sync.aligned.m8n8.trans.b16.

    >>> rows = Registers.of(np.arange(32)[:, None] * 2 + 0x10000 * (np.arange(32)[:, None] * 2 + 1))
    >>> [hex(word) for word in movmatrix(rows).words[0, 1].tolist()]  # elements [2, 0] and [3, 0]
    ['0x180010']
    """
    if (registers.count, registers.warps) != (1, 1):
        raise LayoutError("TW203", f"{OPCODE} takes one register of one warp, not {registers}")
    return Registers.holding(registers.numbers(BEFORE, "u16", step=Step(OPCODE, warp)), AFTER, "u16")


def _asked(instruction: str, form: Form | str, trans: bool, warp: int) -> tuple[Form, Step]:
    this = Form.of(instruction, form, trans)
    if this.instruction != instruction:
        raise LayoutError("TW601", f"{this} is no {instruction}")
    return this, Step(f"{instruction}.{short(this)}", warp)


def _rows(form: Form, addresses: Addresses, step: Step) -> Array:
    """Return the address of every row, matrix after matrix; refuse a lane without an address."""
    owners = _owners(form)
    at = by_lane(addresses, step)[owners]
    if (at == NOBODY).any():
        lane = int(owners[np.argmax(at == NOBODY)])
        raise LayoutError(
            "TW203",
            f"lane {lane} supplies no address, and {form} reads those of lanes 0 to {owners.max()}",
            hint="all lanes of the warp execute it",
        )
    return at


@cache
def _owners(form: Form) -> Array:
    """Return the lane that supplies the address of each row."""
    return table(form.addresses).columns["laneid"].reshape(-1)
