"""How assets are cut into parts: by company, each part named by the company's id.

Partitions are added when a company is first worked on; Dagster keeps them until somebody removes them there.
"""

from typing import Final
from uuid import UUID

import dagster as dg

companies: Final = dg.DynamicPartitionsDefinition(name="companies")


def partition_of(instance: dg.DagsterInstance, company_id: UUID) -> str:
    """The company's partition, which is there from now on."""
    instance.add_dynamic_partitions("companies", [str(company_id)])
    return str(company_id)
