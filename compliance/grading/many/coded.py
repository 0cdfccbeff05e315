"""The columns of SKUs as numbers: what a block of the arrays starts from."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import polars as pl

from compliance.grading.many.coding import Coding
from compliance.grading.many.columns import with_bodies
from compliance.grading.many.keys import Bools, Floats, Ints


@dataclass(frozen=True, slots=True)
class Coded:
    """A row a component (`sku` to `unweighed`), in the order of the SKUs, and a row a SKU (`form` to `has_graph`).

    `outside` is the number of the reason for which a SKU needs no grade, 0 where there is none.
    """

    sku: Ints
    part: Ints
    grams: Floats
    unweighed: Bools
    form: Ints
    level: Ints
    outside: Ints
    has_graph: Bools

    @classmethod
    def of(cls, skus: pl.DataFrame, components: pl.DataFrame, coding: Coding) -> Self:
        """Return these columns as numbers."""
        lines = with_bodies(skus, components)
        form, level, outside = coding.own_columns(skus)
        has_graph = np.zeros(skus.height, np.bool_)
        has_graph[components["sku"].to_numpy()] = True
        return cls(
            sku=lines["sku"].to_numpy().astype(np.int64),
            part=coding.parts(lines, skus),
            grams=lines["weight_g"].fill_null(0.0).to_numpy(),
            unweighed=lines["weight_g"].is_null().to_numpy(),
            form=form,
            level=level,
            outside=outside,
            has_graph=has_graph,
        )

    def __len__(self) -> int:
        return self.form.size

    def blocks(self, size: int) -> Iterator["Coded"]:
        """Yield so many SKUs at a time; `sku` counts from the first of its block."""
        for start in range(0, len(self), size):
            skus = slice(start, start + size)
            lines = slice(*np.searchsorted(self.sku, (start, start + size)))
            yield Coded(
                sku=self.sku[lines] - start,
                part=self.part[lines],
                grams=self.grams[lines],
                unweighed=self.unweighed[lines],
                form=self.form[skus],
                level=self.level[skus],
                outside=self.outside[skus],
                has_graph=self.has_graph[skus],
            )
