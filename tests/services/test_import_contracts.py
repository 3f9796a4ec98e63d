"""The import contract by permission finds what it should: a rule that cannot fail guards nothing."""

from __future__ import annotations

import pytest
from grimp import ImportGraph

from tools.import_contracts import OnlyContract


def contract(**options: list[str]) -> OnlyContract:
    return OnlyContract("only", {"root_packages": ["shop"]}, {"source_modules": ["shop.rules"], **options})


@pytest.fixture
def graph() -> ImportGraph:
    """`shop.rules.deal` imports enum, random and a stub of `post`; another package imports what it likes."""
    graph = ImportGraph()
    for module in ("shop", "shop.rules", "shop.rules.deal", "shop.desk", "enum", "random", "post.v1", "post.client"):
        graph.add_module(module)
    for importer, imported in (
        ("shop.rules.deal", "enum"),
        ("shop.rules.deal", "random"),
        ("shop.rules.deal", "post.v1"),
        ("shop.desk", "post.client"),
    ):
        graph.add_import(importer=importer, imported=imported)
    return graph


def test_an_import_that_is_not_allowed_breaks_the_contract_and_is_named(graph: ImportGraph) -> None:
    found = contract(allowed=["shop.rules", "enum", "post"]).check(graph, verbose=False)
    assert not found.kept
    assert found.metadata["strays"] == [("shop.rules.deal", "random")]


def test_what_is_allowed_keeps_it_and_other_packages_are_not_judged(graph: ImportGraph) -> None:
    assert contract(allowed=["shop.rules", "enum", "random", "post.v1"]).check(graph, verbose=False).kept


def test_within_judges_only_imports_of_the_named_packages(graph: ImportGraph) -> None:
    assert contract(within=["post"], allowed=["post.v1"]).check(graph, verbose=False).kept
    assert not contract(within=["post"], allowed=["post.client"]).check(graph, verbose=False).kept
