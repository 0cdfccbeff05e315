"""The languages of suppliers' pages: each is whole, on those pages alone, and its numbers and words arrive as meant."""

from pathlib import Path

from schemas.messages import LANGUAGES, supplier_languages

ROOT = Path(__file__).parents[2]
OTHERS = tuple(lang for lang in supplier_languages() if lang not in LANGUAGES)
