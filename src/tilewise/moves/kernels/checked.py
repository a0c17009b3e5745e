"""The kernel of a move that tests every access of its source and its target.

It is the kernel's text with other pointers: a `const u8*` becomes an `At<const u8>`, which knows its
storage and is no pointer. Every use of it in the text is tested, or does not compile. Pointers into
shared memory and registers stay unchanged. The first access outside its storage is kept for the host.
The kernel does not make such an access: it ends, and the device stays usable. A read outside gives a value
without meaning, a write outside is lost.
"""

from __future__ import annotations

import ctypes
import re
from typing import ClassVar

from tilewise.codegen.parts.template import filled

WORD = 4
"""Bytes of the word in which an element of less than a byte is changed; other bytes keep their values."""

_VECTOR = re.compile(r"^struct alignas\(16\) V16 .*\n", re.MULTILINE)
_HEAD = re.compile(r"(\w+)\(const u8\* __restrict__ source, u8\* __restrict__ target\)\n\{\n")
_ASSEMBLY = re.compile(r"#if __CUDA_ARCH__ >= \d+\n.*?#else\n(.*?)#endif\n", re.DOTALL)
"""Code that reads by an address of the device, and code that does the same by a pointer."""
_POINTER = re.compile(r"\b(const )?(u8|u16|u32|u64|V16)\*")
_LOCAL = re.compile(r"\((?:const )?(?:u8|u16|u32|u64|V16)\*\)(?:\(?tile\b|&)")
"""A cast of an address in shared memory, or of a variable."""

_POINTERS = """
// The first access that is not of its storage: where from its beginning, in bytes. It is not made.
struct Fault { u32 found, in_target, writes, bytes, block, thread; long long at, size; V16 instead; };
__device__ Fault ${name}_fault;

template <class T> struct Writes { static const bool yes = true; };
template <class T> struct Writes<const T> { static const bool yes = false; };

// A pointer that knows where its storage begins and ends, and tests what is read or written by it.
template <class T> struct At {
    T* at; const u8* low; long long size; bool in_target;

    template <class U> __device__ explicit operator At<U>() const { return {(U*)at, low, size, in_target}; }
    __device__ explicit operator u64() const { return (u64)at; }
    template <class I> __device__ At operator+(I n) const { return {at + n, low, size, in_target}; }
    template <class I> __device__ At operator-(I n) const { return {at - n, low, size, in_target}; }
    __device__ bool operator<(At other) const { return at < other.at; }
    __device__ bool operator<=(At other) const { return at <= other.at; }
    __device__ bool operator>=(At other) const { return at >= other.at; }
    template <class I> __device__ T& operator[](I n) const { return *(*this + n); }
    __device__ T& operator*() const
    {
        const long long first = (long long)at - (long long)low, bytes = sizeof(T);
        if (first >= 0 && first + bytes <= size && (u64)at % alignof(T) == 0) return *at;
        Fault& fault = ${name}_fault;
        if (atomicExch(&fault.found, 1u) == 0) {
            fault.in_target = in_target; fault.writes = Writes<T>::yes; fault.bytes = (u32)bytes;
            fault.block = blockIdx.x; fault.thread = threadIdx.x;
            fault.at = first; fault.size = size;
        }
        return *(T*)&fault.instead;
    }
};
__device__ inline u32 atomicAnd(At<u32> at, u32 bits) { return ::atomicAnd(&*at, bits); }
__device__ inline u32 atomicOr(At<u32> at, u32 bits) { return ::atomicOr(&*at, bits); }
"""

_STORAGES = """
$name(const u8* __restrict__ given_source, u8* __restrict__ given_target)
{
    const At<const u8> source = {given_source, given_source, ${read}ll, false};
    $words
    const At<u8> target = {given_target, given_target$before, $written, true};

"""

_IN_WORDS = """\
// Elements of less than a byte are changed in their words, which the storage begins and ends with.
const long long before = (long long)((u64)given_target & 3);
"""


def checked_source(text: str, sizes: tuple[int, int], *, in_words: bool = False) -> str:
    """Return the kernel of a text with tests, for a source and a target of `sizes` bytes.

        requires       the text of `tile_kernel` or `gather_kernel`
        postcondition  a kernel of the same name, arguments and launch, that moves the same; and a `Fault`
                       NAME_fault, of which `found` is 0 if no access was beyond

    >>> from tilewise import S
    >>> from tilewise.moves import plan
    >>> turn = plan(S[64, 48], S[(64, 48) : (1, 64)], "f32")
    >>> "*(At<const V16>)at;" in checked_source(turn.kernel, (12288, 12288))
    True
    """
    text = _ASSEMBLY.sub(r"\1", text)
    vector, head = _VECTOR.search(text), _HEAD.search(text)
    assert vector is not None, "no kernel of a move"
    assert head is not None, "no kernel of a move"
    read, written = sizes
    slots = {
        "name": head[1],
        "read": read,
        "words": _IN_WORDS if in_words else "",
        "before": " - before" if in_words else "",
        "written": f"({written} + before + {WORD - 1}) / {WORD} * {WORD}" if in_words else f"{written}ll",
    }
    above, functions, body = text[: vector.end()], text[vector.end() : head.start()], text[head.end() :]
    pointers, storages = (filled(own.lstrip("\n"), slots) for own in (_POINTERS, _STORAGES))
    return f"{above}\n{pointers}\n{_told(functions)}{storages}\n{_told(body)}"


def _told(text: str) -> str:
    """Return the text with pointers that know their storage, except into shared memory and registers."""
    parts, last = [], 0
    for local in _LOCAL.finditer(text):
        parts += [_POINTER.sub(_named, text[last : local.start()]), local[0]]
        last = local.end()
    return "".join([*parts, _POINTER.sub(_named, text[last:])])


def _named(pointer: re.Match[str]) -> str:
    return f"At<{pointer[1] or ''}{pointer[2]}>"


class Fault(ctypes.Structure):
    """The record that a kernel keeps of the first access beyond a storage."""

    _fields_: ClassVar = [
        *((name, ctypes.c_uint32) for name in ("found", "in_target", "writes", "bytes", "block", "thread")),
        *((name, ctypes.c_longlong) for name in ("at", "size")),
        ("instead", ctypes.c_uint8 * 16),
    ]

    def __str__(self) -> str:
        way, side = "written" if self.writes else "read", "target" if self.in_target else "source"
        within = self.at >= 0 and self.at + self.bytes <= self.size
        why = f"which is no multiple of {self.bytes}" if within else f"which has {self.size}"
        return (
            f"{self.bytes} bytes were to be {way} at byte {self.at} of the {side}, {why}: "
            f"thread {self.thread} of block {self.block}"
        )


class BeyondStorage(RuntimeError):
    """The error of a checked kernel that met an access outside its storage; the target is incomplete."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(f"{fault}")
        self.block, self.thread, self.at, self.bytes = fault.block, fault.thread, fault.at, fault.bytes
