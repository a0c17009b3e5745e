"""What a model of an engine adds to the documents, sentence by sentence, with who confirmed it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence of the model that no document says: what it says, what asks the hardware, who answered."""

    name: str
    says: str
    asked: str
    confirmed: str = "device: H200"
