"""`pcds export`: write a company's portfolio to a workbook. `services.imports.workbook` defines its contents."""

import sys
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Final

import typer

from api.operate.program import AsJson, CompanyId, DataDir, Refusal, as_operator, show
from schemas.imports.inputs import MAX_IMPORT_BYTES
from services.imports.workbook import export

_MIB: Final = 2**20


def export_portfolio(
    *,
    target: Annotated[Path, typer.Argument(metavar="OUT.xlsx", help="Where it is written.", dir_okay=False)],
    company: CompanyId,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Write the portfolio in the import's own shape: importing it again leaves every SKU unchanged."""
    if target.suffix.lower() != ".xlsx":
        raise typer.BadParameter("A portfolio is an Excel workbook: name it .xlsx.", param_hint="OUT.xlsx")
    if not target.absolute().parent.is_dir():
        raise typer.BadParameter(f"There is no folder {target.parent}.", param_hint="OUT.xlsx")
    try:
        # Written beside its place first, so that no reader finds half a file there.
        with TemporaryDirectory(dir=target.absolute().parent, prefix=".pcds-export-") as folder:
            complete_file = Path(folder) / target.name
            with as_operator(data_dir) as operator, operator.company(company) as connection:
                written = export(connection, str(complete_file))
            complete_file.replace(target)
    except OSError as error:
        raise Refusal(f"{target} cannot be written: {error.strerror}.") from None
    show({"file": str(target), **asdict(written)}, as_json=as_json)
    if (size := target.stat().st_size) > MAX_IMPORT_BYTES:
        size_text = f"{size / _MIB:.1f} MiB, more than the {MAX_IMPORT_BYTES // _MIB} MiB that one import takes"
        print(f"The file has {size_text}; split it by rows to import it again.", file=sys.stderr)
