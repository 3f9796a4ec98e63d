"""How values of the rules and messages of the contract correspond, field by field.

The rules and the contract name the same things alike, so a correspondence is found by name and only the types are
converted. It is made once, at import, and refuses to be made where a field has no counterpart: a field that one side
gained and the other did not cannot go unnoticed.

Written values are what a message constructor takes: numbers for enums, dicts for messages inside messages (which is
faster than messages). Reading refuses what makes no value, naming the field by its path.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any, Final, NamedTuple, get_args

import msgspec
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

from services.wire.errors import invalid_field

LONGEST_LIST: Final = 108
"""Entries of a list in an action: no hand, group or gift has more cards than the largest pack."""


def _only_written(value: Any, path: str) -> Any:
    raise TypeError(f"{path}: no request has a {type(value).__name__}")


class Form(NamedTuple):
    """One correspondence. `write` is given a value of the rules, `read` a value of a message and its path; `read`
    raises Refusal (INVALID_FIELD). What only answers have is not read."""

    write: Callable[[Any], Any]
    read: Callable[[Any, str], Any] = _only_written


def enum_form(values: Iterable[Any], descriptor: EnumDescriptor) -> Form:
    """Enum members (or lower-case strings) and the numbers of an enum whose values have the same names."""
    prefix = descriptor.values[0].name.removesuffix("UNSPECIFIED")
    names = {value.name.removeprefix(prefix): value.number for value in descriptor.values if value.number}
    by_value = {value: names.pop(value.name if isinstance(value, Enum) else value.upper()) for value in values}
    if names:
        raise TypeError(f"the rules have no {descriptor.name} {', '.join(names)}")
    by_number = {number: value for value, number in by_value.items()}
    expected = _one_of(descriptor.name, [descriptor.values_by_number[number].name for number in sorted(by_number)])

    def read(number: int, path: str) -> Any:
        if number not in by_number:
            raise invalid_field(path, number or "", expected)
        return by_number[number]

    return Form({**by_value, None: 0}.__getitem__, read)


def _one_of(kind: str, names: list[str]) -> str:
    if len(names) > 8:
        return f"a {kind} from {names[0]} to {names[-1]}"
    return "one of " + ", ".join(names)


def list_form(element: Form) -> Form:
    """Tuples and repeated fields."""
    write, read = element

    def read_all(entries: Any, path: str) -> tuple[Any, ...]:
        if len(entries) > LONGEST_LIST:
            raise invalid_field(path, f"{len(entries)} entries", f"at most {LONGEST_LIST}")
        return tuple(read(entry, f"{path}[{index}]") for index, entry in enumerate(entries))

    return Form(lambda values: [write(value) for value in values], read_all)


def _read_seat(number: int, path: str) -> int:
    if number < 0:
        raise invalid_field(path, number, "0 or more")
    return number


def _same(value: Any, path: str = "") -> Any:
    return value


SEAT: Final = Form(_same, _read_seat)
"""A seat, which is every number that an action has; whether the room has the seat is the rules' to say."""

_SAME: Final = Form(_same, _same)


class Forms:
    """The correspondences that are known by the name of an enum or message type, from which those of structs are
    made."""

    def __init__(self, known: Mapping[str, Form]) -> None:
        self._known = dict(known)

    def struct(
        self,
        struct: type[msgspec.Struct],
        message: Descriptor | None,
        renamed: Mapping[str, str] | None = None,
    ) -> Form:
        """The correspondence of a struct and a message with the same field names, but for those `renamed` (rules to
        message).

        Raises TypeError where a field has no counterpart."""
        if message is None:
            raise TypeError(f"the contract has no message for {struct.__name__}")
        attributes = {field.name: field for field in msgspec.structs.fields(struct)}
        names = {attribute: (renamed or {}).get(attribute, attribute) for attribute in attributes}
        if missing := set(names.values()) ^ set(message.fields_by_name):
            raise TypeError(f"{struct.__name__} and {message.full_name} differ in {', '.join(sorted(missing))}")
        fields = {attribute: message.fields_by_name[name] for attribute, name in names.items()}
        plan = [
            _Field(attribute, field, self._of(field), _must_be_set(attributes[attribute]))
            for attribute, field in fields.items()
        ]
        return Form(_writer(plan), _reader(struct, plan))

    def _of(self, field: FieldDescriptor) -> Form:
        if field.message_type is not None:
            form = self._known[field.message_type.name]
        elif field.enum_type is not None:
            form = self._known[field.enum_type.name]
        else:
            form = SEAT if field.cpp_type == FieldDescriptor.CPPTYPE_INT32 else _SAME
        if not field.is_repeated:
            return form
        return list_form(form)


class _Field(NamedTuple):
    attribute: str
    field: FieldDescriptor
    form: Form
    required: bool


def _must_be_set(field: msgspec.structs.FieldInfo) -> bool:
    return bool(field.required) and type(None) not in get_args(field.type)


def _writer(plan: list[_Field]) -> Callable[[Any], dict[str, Any]]:
    steps = [(part.attribute, part.field.name, part.form.write) for part in plan]

    def write(value: Any) -> dict[str, Any]:
        written = {}
        for attribute, name, convert in steps:
            content = getattr(value, attribute)
            if content is not None:
                written[name] = convert(content)
        return written

    return write


def _reader(struct: type[msgspec.Struct], plan: list[_Field]) -> Callable[[Any, str], Any]:
    def read(message: Any, path: str) -> Any:
        values = {}
        for attribute, field, form, required in plan:
            where = f"{path}.{field.name}"
            if _is_set(message, field):
                values[attribute] = form.read(getattr(message, field.name), where)
            elif required:
                raise invalid_field(where, "", f"a {field.message_type.name if field.message_type else 'value'}")
        return struct(**values)

    return read


def _is_set(message: Any, field: FieldDescriptor) -> bool:
    """Whether the field says anything; plain numbers, flags and texts always do."""
    if field.is_repeated:
        return len(getattr(message, field.name)) > 0
    if field.enum_type is not None:
        return bool(getattr(message, field.name))
    return not field.has_presence or bool(message.HasField(field.name))


def snake_case(name: str) -> str:
    """`TurnStarted` as a field is called: `turn_started`."""
    return re.sub(r"(?<=.)([A-Z])", r"_\1", name).lower()
