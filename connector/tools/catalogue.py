"""Defines the tools of published facts: lists product and plan facts, and checks statements against them or the law."""

from typing import Annotated, Final, Literal

from pydantic import BaseModel, Field

from compliance.statements import answers, facts
from compliance.statements.words import CorpusName, Lang
from connector.tools.kit import DEFAULT_LIMIT, Answer, Limit, Offset, Page, ToolSet
from services import statements

Statement = Annotated[str, Field(description="One sentence.", min_length=1, max_length=1000)]
Language = Annotated[Lang, Field(description="Its language.")]
_NEXT: Final = {
    "supported": "Quote the entries with their sources and the exceptions, if `read_as` is what was meant.",
    "contradicted": "Correct the statement by the entries, and quote their sources, if `read_as` is what was meant.",
    "not_covered": "Say that the referential does not decide it: this is neither a yes nor a no. `provisions` bear on "
    "it; a shorter statement about one figure, date or duty of them, or one put as `claim`, may be covered.{about}",
}
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


class Case(BaseModel):
    """An exception: where a rule does not hold, or not surely."""

    sentence: str
    source: str


class Provision(Entry):
    """A fact with its exceptions."""

    article: str | None
    exceptions: list[Case]


class Checked(Answer):
    """A verdict on the sentence that was judged, and the provisions that bear on it."""

    verdict: Literal["supported", "contradicted", "not_covered"]
    statement: str
    read_as: Annotated[str, Field(description="What was judged: compare it with what was meant.")]
    exceptions: Annotated[list[Case], Field(description="What limits the verdict.")]
    not_understood: Annotated[list[str], Field(description="Words that kept a verdict back.")]
    entries: Annotated[list[Entry], Field(description="What decides it.")]
    provisions: Annotated[list[Provision], Field(description="The nearest, whatever the verdict.")]


class Facts(Answer):
    """Published product facts, one sentence each."""

    facts: list[Entry]
    page: Page


class FactTools(ToolSet):
    """These tools read tables of the release and nothing of the company."""

    TITLES = (
        ("check_regulation_statement", "Check a statement on the law"),
        ("check_pricing_statement", "Check a statement on plans"),
        ("get_product_facts", "Product facts"),
    )

    def check_regulation_statement(
        self,
        statement: Statement,
        lang: Language = "en",
        claim: Annotated[
            answers.Frame | None, Field(description="Judged in place of its words: figure >=30 %, when from:2030.")
        ] = None,
    ) -> Checked:
        """Check one statement about packaging law (PPWR, PFAS, BPA, REACH): supported, contradicted or not_covered.

        Use it for "is it true that", and before you state a limit, date, target, format ban or duty. The verdict is
        about `read_as`: a help, no legal judgement.
        """
        return self._checked(statement, lang, "regulation", _LAW, claim)

    def check_pricing_statement(self, statement: Statement, lang: Language = "en") -> Checked:
        """Check one statement about this service's plans, limits and prices: supported, contradicted or not_covered.

        Use it before you say what a plan (Starter, Growth, Professional, Enterprise) includes. Amounts of money are not
        published.
        """
        return self._checked(statement, lang, "service", _PLANS)

    def get_product_facts(self, limit: Limit = DEFAULT_LIMIT, offset: Offset = 0) -> Facts:
        """Read the published facts about this service: plans, their limits, rate limits, file sizes, what tools do."""
        service_facts = facts.load("service")
        page_of_facts = service_facts[offset : offset + limit]
        page = Page.from_pagination({"limit": limit, "offset": offset, "total": len(service_facts)}, len(page_of_facts))
        return Facts(
            as_of=self._service.clock.now(),
            sources=[_PLANS],
            next_step=page.way_on("Call check_pricing_statement to check a sentence before you say it."),
            facts=[Entry.model_validate(fact.as_dict()) for fact in page_of_facts],
            page=page,
        )

    def _checked(
        self, statement: str, lang: Lang, corpus: CorpusName, source: str, frame: answers.Frame | None = None
    ) -> Checked:
        now = self._service.clock.now()
        answer = statements.check(statement, lang, corpus, now.date(), frame)
        return Checked(
            as_of=now,
            sources=[source],
            next_step=_NEXT[answer.verdict].format(about=_about(answer) if corpus == "regulation" else ""),
            verdict=answer.verdict,
            statement=statement,
            read_as=answer.read_as,
            exceptions=[Case.model_validate(case.as_dict()) for case in answer.exemptions],
            not_understood=list(answer.not_understood),
            entries=[Entry.model_validate(fact.as_dict()) for fact in answer.deciding],
            provisions=[Provision.model_validate(fact.as_provision()) for fact in answer.provisions],
        )


def _about(answer: answers.Answer) -> str:
    """Return the codes of what the nearest provisions are about, which a claim takes beside words."""
    codes = dict.fromkeys(code for fact in answer.provisions for code in sorted(fact.concepts))
    return f" Its `about` takes these codes, too: {', '.join(codes)}." if codes else ""
