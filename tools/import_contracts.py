"""An import-linter contract by permission: the source packages import these modules and nothing else.

[[tool.importlinter.contracts]]
type = "only"
source_modules = ["services.rules"]
allowed = ["services.rules", "msgspec", "enum"]     # each with its submodules
within = ["maumau"]                                 # optional: judge only imports from these
"""

from __future__ import annotations

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class OnlyContract(Contract):
    """Fails for every direct import by a source package that is not allowed."""

    type_name = "only"

    source_modules = fields.SetField(subfield=fields.ModuleField())
    allowed = fields.SetField(subfield=fields.StringField())
    within = fields.SetField(subfield=fields.StringField(), required=False)

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        sources = {module.name for module in self.source_modules}  # type: ignore[attr-defined]
        importers = sources.union(*(graph.find_descendants(source) for source in sources))
        strays = sorted(
            (importer, imported)
            for importer in importers
            for imported in graph.find_modules_directly_imported_by(importer)
            if self._is_stray(imported)
        )
        return ContractCheck(kept=not strays, metadata={"strays": strays})

    def _is_stray(self, imported: str) -> bool:
        judged = self.within is None or _is_in(imported, self.within)  # type: ignore[arg-type]
        return judged and not _is_in(imported, self.allowed)  # type: ignore[arg-type]

    def render_broken_contract(self, check: ContractCheck) -> None:
        for importer, imported in check.metadata["strays"]:
            output.print_error(f"{importer} may not import {imported}")


def _is_in(module: str, packages: set[str]) -> bool:
    return any(module == package or module.startswith(package + ".") for package in packages)
