"""Defines the tools of published facts: lists product and plan facts, and checks statements against them or the law."""

from typing import Annotated, Any, Final, Literal  # Any: an entry of the table of facts

from pydantic import BaseModel, Field

from compliance.statements import facts, judging
from compliance.statements.facts import Corpus
from compliance.statements.figures import Lang
from connector.tools.kit import DEFAULT_LIMIT, Answer, Limit, Offset, Page, ToolSet

Statement = Annotated[str, Field(description="One statement, in one sentence.", min_length=1, max_length=1000)]
Language = Annotated[Lang, Field(description="The language that the statement is in: en, fr or de.")]
_NEXT: Final = {
    "supported": "Quote the entries with their sources.",
    "contradicted": "Correct the statement by the entries, and quote their sources.",
    "not_covered": "Say that the referential does not cover it: this is neither a yes nor a no. `nearest` has entries "
    "nearby; a shorter statement about one figure, date or duty of them may be covered.",
}
_NEAREST: Final = 3
_LAW: Final = "The service's referential of articles, dates and limits; not legal advice"
_PLANS: Final = "The service's published plans and product facts; no price is published here"


class Entry(BaseModel):
    """A fact of the referential."""

    key: str
    sentence: str
    values: list[str]
    dates: list[dict[str, str]]
    source: Annotated[str, Field(description="The article, or the part of the published interface.")]
    source_url: str | None


class Checked(Answer):
    """A verdict with the entries that say so."""

    verdict: Literal["supported", "contradicted", "not_covered"]
    statement: str
    entries: list[Entry]
    nearest: Annotated[
        list[Entry], Field(description="Not covered: entries nearby, which do not decide it.", default_factory=list)
    ]


class Facts(Answer):
    """Published product facts, one sentence each."""

    facts: list[Entry]
    page: Page


class FactTools(ToolSet):
    """These tools read tables of the release and nothing of the company."""

    TITLES = (
        ("check_regulation_statement", "Check a statement against the regulation"),
        ("check_pricing_statement", "Check a statement about plans and prices"),
        ("get_product_facts", "Read the published product facts"),
    )

    def check_regulation_statement(self, statement: Statement, lang: Language = "en") -> Checked:
        """Check one statement about packaging law (PPWR, PFAS, BPA, REACH): supported, contradicted or not_covered.

        Use it for "is it true that", and before you state a limit, date, target, format ban or duty. It answers with
        the articles that say so and never guesses.
        """
        return self._checked(statement, lang, facts.regulation(), _LAW)

    def check_pricing_statement(self, statement: Statement, lang: Language = "en") -> Checked:
        """Check one statement about this service's plans, limits and prices: supported, contradicted or not_covered.

        Use it before you say what a plan (Starter, Growth, Professional, Enterprise) includes, costs or allows. Amounts
        of money are not published here.
        """
        return self._checked(statement, lang, facts.service(), _PLANS)

    def get_product_facts(self, limit: Limit = DEFAULT_LIMIT, offset: Offset = 0) -> Facts:
        """Read the published facts about this service: plans and their limits, rate limits, file sizes, what tools do.

        Use it for questions about the product itself. For the law use check_regulation_statement; for the company's
        own data use the other tools.
        """
        service_facts = facts.load("service")
        page_of_facts = service_facts[offset : offset + limit]
        page = Page.of({"limit": limit, "offset": offset, "total": len(service_facts)}, len(page_of_facts))
        return Facts(
            as_of=self._service.clock.now(),
            sources=[_PLANS],
            next_step=page.way_on("Call check_pricing_statement to check a sentence before you say it."),
            facts=[_entry(fact.as_dict()) for fact in page_of_facts],
            page=page,
        )

    def _checked(self, statement: str, lang: Lang, corpus: Corpus, source: str) -> Checked:
        now = self._service.clock.now()
        judged = judging.check(statement, lang, corpus, now.date())
        return Checked(
            as_of=now,
            sources=[source],
            next_step=_NEXT[judged.verdict],
            verdict=judged.verdict,
            statement=statement,
            entries=[_entry(fact.as_dict()) for fact in judged.facts],
            nearest=[_entry(fact.as_dict()) for fact in judging.nearest(statement, lang, corpus, _NEAREST)]
            if judged.verdict == "not_covered"
            else [],
        )


def _entry(fact: dict[str, Any]) -> Entry:
    return Entry(**fact)
