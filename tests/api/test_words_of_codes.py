"""Every code that the service can give has its word on the pages: a lookup without one is a page that ends in a fault.

The codes are compared with the texts as they are published, so that a code more without a word fails here first.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import pytest

import api
from api.audit.pages import _name, _value
from api.audit.words import reason_in_words
from api.pages.render import _FOR_PEOPLE, said, text
from compliance import catalogue, obligations, recycled_content, scopes
from compliance.conformity import points
from compliance.filings import annex_ix
from compliance.statements import answers, judging
from schemas import changes, companies, conformity, files, filings, marks, messages, registers, roles, rules, suppliers
from schemas.accounts import ROLES
from schemas.files import EVIDENCE_STATES
from schemas.imports import types as imports
from schemas.issues import ISSUE_CODES
from schemas.library import SiteInput
from schemas.messages import LANGUAGES
from schemas.refusals import ERROR_CODES
from schemas.vocabularies import ACTORS, RESOURCE_TYPES, VOCABULARIES
from tests.compliance.test_rollup import ONLY_IN_THE_UK_FILE
from warehouse.figures.gaps import GAPS
from warehouse.operate.staff import ROLES as STAFF_ROLES
from warehouse.review import RESOURCES as REVIEWED
from warehouse.suppliers import STATES


def codes_in(hint: Any) -> Iterator[str]:
    """The codes that an annotation allows, wherever in it they stand."""
    for each in getattr(hint, "__args__", ()):
        yield from [each] if isinstance(each, str) else codes_in(each)


def codes_of(record: Any, field: str) -> tuple[str, ...]:
    return tuple(codes_in(record.__annotations__[field]))


API = Path(api.__file__).parent
DUE = [day for days in catalogue.due_days().values() for day in days]
CODES: Mapping[str, Any] = {
    "audit.resource": RESOURCE_TYPES,
    "company.size": companies.SIZES,
    "content.point": recycled_content.POINTS.values(),
    "covers": catalogue.KINDS,
    "declarations.due": {day.bound for day in DUE},
    "declarations.due.sure": {day.confidence for day in DUE},
    "declarations.format": filings.FORMATS,
    "declarations.rating": filings.RATINGS,
    "doc.status": codes_of(conformity.Doc, "state"),
    "doc_status": VOCABULARIES["doc_status"],
    "duty": {row.obligation for row in obligations.thresholds()},
    "effect": get_args(rules._Effect),
    "enquiries.state": codes_of(suppliers.SupplierEnquiry, "state"),
    "enquiry.state": codes_of(suppliers.SupplierEnquiryItem, "state"),
    "evidence.file": codes_of(files.EvidenceFile, "state"),
    "evidence.state": EVIDENCE_STATES,
    "figures.half": (0, 1, 2),
    "figures.one_half": (1, 2),
    "figures.reason": {
        *annex_ix.questions(),
        "half_missing",
        "half_year_conflict",
        "unknown_market",
        *ONLY_IN_THE_UK_FILE,
    },
    "figures.scope": (scopes.IN, scopes.OUT, scopes.ASK),
    "gap": GAPS,
    "grade": VOCABULARIES["recyclability_grade"],
    "half": (1, 2),
    "imports.layout": get_args(imports.Layout),
    "imports.state": VOCABULARIES["import_status"],
    "issuing.adds": {point.key for point in points() if point.adds},
    "keys.scope": VOCABULARIES["scope"],
    "library.role": VOCABULARIES["site_role"],
    "mail.fault": codes_of(suppliers.SupplierMail, "fault"),
    "mail.kind": codes_of(suppliers.SupplierMail, "kind"),
    "mail.state": codes_of(suppliers.SupplierMail, "state"),
    "market.representative": get_args(companies.Required),
    "marks.answer": codes_of(marks.PackMark, "answer"),
    "marks.artwork_state": get_args(marks.ArtworkState),
    "marks.claim": codes_of(marks.PackClaim, "state"),
    "marks.property": get_args(marks.Property),
    "marks.state": marks.STATES,
    "marks.timing": codes_of(marks.Artwork, "timing"),
    "registers.is": codes_of(registers.MarketRegisters, "state"),
    "registers.need": codes_of(registers.RegisterNeed, "state"),
    "review.filer": ACTORS,
    "review.kind": REVIEWED,
    "role": ROLES,
    "roles.operator": {*codes_of(roles.RoleDecision, "answer")} - {"yes", "no"},
    "roles.producer": ("yes", "no", "undecided"),
    "roles.state": codes_of(roles.RoleDuty, "state"),
    "scope": {row.scope_key for row in obligations.thresholds()},
    "staff": STAFF_ROLES,
    "statements.demand": get_args(answers.Demand),
    "statements.role": answers.ROLES,
    "statements.verdict": get_args(judging.Verdict),
    "statements.who": get_args(answers.Who),
    "suppliers.state": STATES,
    "unit": VOCABULARIES["substance_unit"],
    "verdict": get_args(rules._Verdict),
    "webhooks.delivery": codes_of(changes.WebhookDelivery, "state"),
    "webhooks.fault": changes.FAULTS,
    "webhooks.reason": changes.REASONS,
    "webhooks.state": codes_of(changes.Webhook, "state"),
    "why": {row.undecidable for row in obligations.thresholds() if row.undecidable},
}
"""The beginning of the keys of texts, and the codes behind it."""
OF_QUERIES = {"board", "imports.not_read", "item.scheme", "rating", "review.state", "suppliers.stage"}
"""Groups whose codes only a query, a page or a table of the law spells; the pages' own tests have each of them."""
LOOKED_UP = re.compile(r'say\("([a-z_.]+)\." ~ \w+(?:\.\w+)+')

RECORDS = (
    companies.ProfileFields,
    filings.Declaration,
    filings.DeclarationProducer,
    filings.DeclarationQuestion,
    marks.ClaimInput,
    marks.MarkInput,
    marks.MarksInput,
    registers.CertificationInput,
    registers.MandateInput,
    registers.RegistrationInput,
    registers.RegistersInput,
    roles.RoleAnswersInput,
    SiteInput,
)
"""What entries of the audit log have field by field."""
NOT_ENTERED = {"id", "kept_by", "created_at", "if_version"}
"""Fields that no entry has."""
ID = "01a22605-d54a-705c-a956-0937495d32b1"


def test_every_group_that_a_template_looks_up_by_a_field_is_compared():
    groups = {group for page in API.rglob("*.html") for group in LOOKED_UP.findall(page.read_text(encoding="utf-8"))}
    assert groups - CODES.keys() == OF_QUERIES


@pytest.mark.parametrize(("group", "codes"), CODES.items())
def test_every_code_that_a_page_looks_up_has_its_word(group, codes):
    assert codes
    assert all(text(f"{group}.{code}", lang) for code in codes for lang in LANGUAGES)


@pytest.mark.parametrize("record", RECORDS)
def test_every_field_of_an_audit_entry_and_its_codes_are_words(record):
    for field, hint in record.__annotations__.items():
        if field in NOT_ENTERED:
            continue
        for lang in LANGUAGES:
            assert _name(field, lang) != field
            for code in codes_in(hint):
                assert _value(field, code, lang) != code, (field, code)
                assert _value(field, [code], lang) == _value(field, code, lang)


@pytest.mark.parametrize("code", ISSUE_CODES)
def test_why_an_import_failed_is_said_in_the_readers_language(code):
    failure = {"field": "name", "code": code, "message": "No column is recognised as name.", "correlationId": ID}
    told = {_value("failure", failure, lang) for lang in LANGUAGES}
    assert len(told) == len(LANGUAGES)
    assert not any("recognised" in each or ID in each for each in told - {_value("failure", failure, "en")})


def test_a_reason_of_the_services_own_is_said_in_the_readers_language_and_another_stays_as_it_was_written():
    own = {
        "Archived.": "Archiviert.",
        "Undo of the import a.csv.": "Import a.csv zurückgenommen.",
        "Its last day, 2026-11-28, has passed.": "Ihr letzter Tag, 2026-11-28, ist vergangen.",
        f"sku_proposal {ID} accepted: {{x}}": "Vorgeschlagene Änderung angenommen: {x}",
    }
    for reason, german in own.items():
        assert reason_in_words(reason, "de") == german
    for written in (f"banana {ID} accepted", "Undo of the import.", "Its last day, {0}, has passed."):
        assert reason_in_words(written, "de") == written


def test_who_looked_too_often_reads_nothing_of_headers():
    for lang in LANGUAGES:
        assert "Retry" not in said(ERROR_CODES["rate_limited"].meaning, lang)


def test_a_sentence_that_tells_a_program_what_to_send_has_one_for_people() -> None:
    """The pages offer the answers of a question as choices: the piece of mapping in its sentence is not for them."""
    sentences = {message.id for message in messages.catalogue("de") if isinstance(message.id, str)}
    assert {sentence for sentence in sentences if "mapping={mapping}" in sentence} <= _FOR_PEOPLE.keys()
