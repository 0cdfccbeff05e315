"""Input of a rollup: one company's SKUs, components and volumes as frames.

Other columns are ignored. A `sku_code` appears once in `skus`; codes that appear only in the other frames are left out.
"""

from typing import Final, NamedTuple

import polars as pl

SKU_COLUMNS: Final = pl.Schema(
    {
        "sku_code": pl.String(),
        "material": pl.String(),
        "material_subtype": pl.String(),
        "weight_grams": pl.Float64(),
        "packaging_format": pl.String(),
        "reusable": pl.Boolean(),
        "packaging_level": pl.String(),
        "reuse_deposit_system": pl.Boolean(),
        "use_contexts": pl.List(pl.String()),
        "archived": pl.Boolean(),
    }
)
"""`archived` marks a SKU that has left the lists: what was placed on a market of it stays placed (decisions §13)."""
COMPONENT_COLUMNS: Final = pl.Schema(
    {
        "sku_code": pl.String(),
        "position": pl.UInt32(),
        "component_type": pl.String(),
        "material_family": pl.String(),
        "polymer_or_grade": pl.String(),
        "weight_g": pl.Float64(),
        "separable": pl.Boolean(),
    }
)
"""`position` is the place in the SKU's list of components, from 0."""
VOLUME_COLUMNS: Final = pl.Schema(
    {"sku_code": pl.String(), "market": pl.String(), "year": pl.Int32(), "half": pl.Int8(), "units_placed": pl.Int64()}
)


class Portfolio(NamedTuple):
    """The three frames, in any order of rows; weights in grams, units placed on the market."""

    skus: pl.DataFrame
    components: pl.DataFrame
    volumes: pl.DataFrame
