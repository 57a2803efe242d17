"""Output that fits the terminal."""

import pytest

from service.cli.terminal import wrap_fields


@pytest.mark.parametrize(
    ("width", "rows"),
    [
        (80, ["Bout 1: Anna attacks Boris · hands Anna 6, Boris 6 · stock 18"]),
        (55, ["Bout 1: Anna attacks Boris · hands Anna 6, Boris 6", "  stock 18"]),
        (40, ["Bout 1: Anna attacks Boris", "  hands Anna 6, Boris 6 · stock 18"]),
        (20, ["Bout 1: Anna attacks", "  Boris", "  hands Anna 6,", "  Boris 6 · stock 18"]),
    ],
)
def test_fields_are_broken_between_each_other_before_they_are_broken_themselves(
    width: int, rows: list[str]
) -> None:
    fields = ["Bout 1: Anna attacks Boris", "hands Anna 6, Boris 6", "stock 18"]
    assert wrap_fields(fields, width) == rows


def test_an_id_is_never_broken() -> None:
    match_id = "00000000-0000-8000-8000-000000000000"
    assert wrap_fields([match_id, "Anna, Boris"], 20, separator="  ") == [
        match_id,
        "  Anna, Boris",
    ]
