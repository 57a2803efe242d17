"""Messages of the contract filled at random.

Unknown enum numbers, negative numbers, texts that are not UUIDs, missing submessages.
"""

from collections.abc import Callable, Mapping
from random import Random
from types import MappingProxyType
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

_SMALL: Final = (*range(-3, 8), 13, 14, 36, 37, 52, 53, 54, 60, 99)
_TEXTS: Final = ("", "player-0", "player-1", "not-a-uuid", "0" * 36, "é\n\u202e", "1.1.0")
_INT32: Final = (-(2**31), 2**31 - 1)
_INT64: Final = (-(2**63), 2**63 - 1, 253_402_300_800)
_SIGNED_32: Final = (FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_SINT32)
_SIGNED_64: Final = (FieldDescriptor.TYPE_INT64, FieldDescriptor.TYPE_SINT64)


def fill(message: Message, random: Random) -> None:
    """Set most fields of a message to values that their types can hold."""
    descriptor = message.DESCRIPTOR
    of_oneofs = {field.name for oneof in descriptor.oneofs for field in oneof.fields}
    fields: list[Any] = [field for field in descriptor.fields if field.name not in of_oneofs]
    fields += [random.choice(oneof.fields) for oneof in descriptor.oneofs]
    for field in fields:
        if random.random() < 0.15:
            message.ClearField(field.name)
        elif field.is_repeated:
            _fill_list(message, field, random)
        elif field.message_type is not None:
            fill(getattr(message, field.name), random)
            getattr(message, field.name).SetInParent()
        else:
            setattr(message, field.name, any_value(field, random))


def _fill_list(message: Message, field: Any, random: Random) -> None:
    elements = getattr(message, field.name)
    del elements[:]
    for _ in range(random.choice((0, 1, 2, 6, 24))):
        if field.message_type is not None:
            fill(elements.add(), random)
        else:
            elements.append(any_value(field, random))


def any_value(field: Any, random: Random) -> Any:
    """Return a value for a field that is not a message."""
    return _VALUES[field.type](random)


def _signed(edges: tuple[int, ...]) -> Callable[[Random], int]:
    return lambda random: random.choice(_SMALL if random.random() < 0.9 else edges)


def _unsigned(most: int) -> Callable[[Random], int]:
    return lambda random: abs(random.choice(_SMALL)) if random.random() < 0.9 else most


_VALUES: Final[Mapping[int, Callable[[Random], Any]]] = MappingProxyType(
    {
        FieldDescriptor.TYPE_BOOL: lambda random: random.random() < 0.5,
        FieldDescriptor.TYPE_BYTES: lambda random: random.randbytes(random.choice((0, 1, 16, 32))),
        FieldDescriptor.TYPE_ENUM: _signed(_INT32),
        FieldDescriptor.TYPE_STRING: lambda random: random.choice(_TEXTS),
        FieldDescriptor.TYPE_UINT32: _unsigned(2**32 - 1),
        FieldDescriptor.TYPE_UINT64: _unsigned(2**64 - 1),
        **dict.fromkeys(_SIGNED_32, _signed(_INT32)),
        **dict.fromkeys(_SIGNED_64, _signed(_INT64)),
    }
)
