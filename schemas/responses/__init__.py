"""Pydantic models of the answers: the OpenAPI document publishes them and tests check real answers against them.

No handler serialises through them: the database or the steps make the answers. Every field is always present unless it
has a default. v1 is additive: clients ignore fields that they do not know.
"""

from schemas.responses.access import TokenResponse
from schemas.responses.archive import ArchivedSkuListResponse, ImportUndoResult
from schemas.responses.audit import AuditLogResponse
from schemas.responses.base import Error
from schemas.responses.changes import ChangeListResponse
from schemas.responses.declarations import (
    DeclarationDetailResponse,
    DeclarationListResponse,
    DeclarationWriteResult,
)
from schemas.responses.docs import DocListResponse
from schemas.responses.documents import (
    DocDraftListResponse,
    DocDraftResponse,
    DocDraftResult,
    DocResponse,
    DocResult,
    DocSearchResponse,
)
from schemas.responses.enquiries import (
    SupplierEnquiryListResponse,
    SupplierEnquiryResponse,
    SupplierEnquiryResult,
    SupplierListResponse,
    SupplierRequestListResponse,
)
from schemas.responses.exports import ExportListResponse, ExportResponse
from schemas.responses.figures import (
    ObligationListResponse,
    TonnesListResponse,
    UncountedListResponse,
    UndecidedListResponse,
)
from schemas.responses.files import TechnicalFilesListResponse, TechnicalFileUploadResponse
from schemas.responses.imports import (
    ImportAccepted,
    ImportListResponse,
    ImportStatusResponse,
    RejectedRowListResponse,
)
from schemas.responses.jurisdictions import JurisdictionListResponse
from schemas.responses.library import (
    BrandListResponse,
    BrandResult,
    LibraryComponentListResponse,
    LibraryComponentResult,
    SiteListResponse,
    SiteResult,
)
from schemas.responses.sandbox import SandboxResetResult
from schemas.responses.service import Health, JsonSchemaDocument, OpenApiDocument
from schemas.responses.skus import SkuBatchResponse, SkuDetailResponse, SkuListResponse, SkuWhatIf, SkuWriteResult
from schemas.responses.suppliers import SupplierSubmissionAccepted
from schemas.responses.volumes import VolumesWriteResult
from schemas.responses.webhooks import (
    WebhookDeliveryListResponse,
    WebhookListResponse,
    WebhookResponse,
    WebhookTestResult,
    WebhookWriteResult,
)
from schemas.responses.words import (
    KeptMappingListResponse,
    KeptMappingRemoval,
    OwnWordListResponse,
    OwnWordsWriteResult,
)

__all__ = [
    "ArchivedSkuListResponse",
    "AuditLogResponse",
    "BrandListResponse",
    "BrandResult",
    "ChangeListResponse",
    "DeclarationDetailResponse",
    "DeclarationListResponse",
    "DeclarationWriteResult",
    "DocDraftListResponse",
    "DocDraftResponse",
    "DocDraftResult",
    "DocListResponse",
    "DocResponse",
    "DocResult",
    "DocSearchResponse",
    "Error",
    "ExportListResponse",
    "ExportResponse",
    "Health",
    "ImportAccepted",
    "ImportListResponse",
    "ImportStatusResponse",
    "ImportUndoResult",
    "JsonSchemaDocument",
    "JurisdictionListResponse",
    "KeptMappingListResponse",
    "KeptMappingRemoval",
    "LibraryComponentListResponse",
    "LibraryComponentResult",
    "ObligationListResponse",
    "OpenApiDocument",
    "OwnWordListResponse",
    "OwnWordsWriteResult",
    "RejectedRowListResponse",
    "SandboxResetResult",
    "SiteListResponse",
    "SiteResult",
    "SkuBatchResponse",
    "SkuDetailResponse",
    "SkuListResponse",
    "SkuWhatIf",
    "SkuWriteResult",
    "SupplierEnquiryListResponse",
    "SupplierEnquiryResponse",
    "SupplierEnquiryResult",
    "SupplierListResponse",
    "SupplierRequestListResponse",
    "SupplierSubmissionAccepted",
    "TechnicalFileUploadResponse",
    "TechnicalFilesListResponse",
    "TokenResponse",
    "TonnesListResponse",
    "UncountedListResponse",
    "UndecidedListResponse",
    "VolumesWriteResult",
    "WebhookDeliveryListResponse",
    "WebhookListResponse",
    "WebhookResponse",
    "WebhookTestResult",
    "WebhookWriteResult",
]
