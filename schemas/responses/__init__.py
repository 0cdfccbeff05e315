"""The answers as Pydantic models: what the OpenAPI document publishes and what tests hold real answers against.

No handler serialises through them: answers are made by the database or by the steps, and a test compares. Every
field is always present unless it has a default; v1 is additive, so that clients ignore what they do not know.
"""

from schemas.responses.access import TokenResponse
from schemas.responses.audit import AuditLogResponse
from schemas.responses.base import Error
from schemas.responses.docs import DocListResponse
from schemas.responses.files import TechnicalFilesListResponse, TechnicalFileUploadResponse
from schemas.responses.imports import ImportAccepted, ImportStatusResponse
from schemas.responses.jurisdictions import JurisdictionListResponse
from schemas.responses.library import BrandListResponse, LibraryComponentListResponse, SiteListResponse
from schemas.responses.service import Health, JsonSchemaDocument, OpenApiDocument
from schemas.responses.skus import SkuBatchResponse, SkuDetailResponse, SkuListResponse, SkuWriteResult
from schemas.responses.suppliers import SupplierSubmissionAccepted
from schemas.responses.volumes import VolumesWriteResult

__all__ = [
    "AuditLogResponse",
    "BrandListResponse",
    "DocListResponse",
    "Error",
    "Health",
    "ImportAccepted",
    "ImportStatusResponse",
    "JsonSchemaDocument",
    "JurisdictionListResponse",
    "LibraryComponentListResponse",
    "OpenApiDocument",
    "SiteListResponse",
    "SkuBatchResponse",
    "SkuDetailResponse",
    "SkuListResponse",
    "SkuWriteResult",
    "SupplierSubmissionAccepted",
    "TechnicalFileUploadResponse",
    "TechnicalFilesListResponse",
    "TokenResponse",
    "VolumesWriteResult",
]
