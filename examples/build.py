"""Builds `portfolio.csv` (English headers) and `portfolio.xlsx` (French headers, with a components sheet).

Both hold the same forty invented packagings of one food company, and a few rows that an import rejects, so that a
newcomer sees a report. Run it from anywhere: `python examples/build.py`. It writes the same bytes every time.
"""

import csv
import datetime
from dataclasses import dataclass
from pathlib import Path

import xlsxwriter
from stdnum import ean

HERE = Path(__file__).parent
YEAR = 2026


@dataclass(frozen=True)
class Part:
    """A component: type, material family, polymer or grade, weight in grams, colour."""

    type: str
    family: str
    grade: str
    grams: float
    colour: str = ""


@dataclass(frozen=True)
class Line:
    """A product line: packagings that differ in size only."""

    key: str
    name: str
    format: str
    material: str
    grade: str
    level: str
    uses: str
    sizes: tuple[tuple[str, float], ...]
    parts: tuple[Part, ...] = ()
    food: bool = True
    recycled: float | None = None


LINES = (
    Line("WTR", "Water bottle PET", "bottle", "plastic", "PET", "sales", "beverage",
         (("33 cl", 11.2), ("50 cl", 12.8), ("75 cl", 17.5), ("1 l", 21.0), ("1.5 l", 27.4), ("2 l", 34.9)),
         (Part("body", "plastic", "PET", 0.88, "transparent"), Part("cap", "plastic", "HDPE", 0.08, "opaque"),
          Part("label", "plastic", "PP", 0.04, "light")), recycled=30),
    Line("JUI", "Juice bottle glass", "bottle", "glass", "", "sales", "beverage",
         (("20 cl", 148), ("25 cl", 171), ("75 cl", 395), ("1 l", 468)),
         (Part("body", "glass", "clear glass", 0.98, "transparent"), Part("cap", "metal", "tinplate", 0.015),
          Part("label", "paper", "wet-strength paper", 0.005))),
    Line("CAN", "Tomato can", "can", "metal", "steel", "sales", "food",
         (("200 g", 31), ("400 g", 52), ("800 g", 88), ("2.5 kg", 221)),
         (Part("body", "metal", "tinplate", 0.97), Part("label", "paper", "paper", 0.03)), recycled=25),
    Line("BEV", "Beverage can", "can", "metal", "aluminium", "sales", "beverage",
         (("25 cl", 9.8), ("33 cl", 12.4), ("50 cl", 15.6)),
         (Part("body", "metal", "aluminium", 1.0),), recycled=50),
    Line("TRY", "Ham tray", "tray", "plastic", "PET", "sales", "food",
         (("2 slices", 9.4), ("4 slices", 12.9), ("8 slices", 18.2)),
         (Part("body", "plastic", "PET", 0.86, "transparent"), Part("seal", "plastic", "PET/PE", 0.11, "transparent"),
          Part("label", "paper", "paper", 0.03))),
    Line("YOG", "Yoghurt pot", "pot", "plastic", "PP", "sales", "food",
         (("125 g", 4.6), ("150 g", 5.2), ("500 g", 13.8)),
         (Part("body", "plastic", "PP", 0.9, "light"), Part("seal", "metal", "aluminium", 0.1))),
    Line("CER", "Cereal carton", "carton", "paper", "cartonboard", "sales", "food",
         (("375 g", 58), ("500 g", 71), ("750 g", 94)),
         (Part("body", "paper", "cartonboard", 0.9), Part("liner", "plastic", "HDPE", 0.1, "natural")), recycled=80),
    Line("BAR", "Cereal bar film", "film", "plastic", "PP", "sales", "food",
         (("25 g", 0.9), ("40 g", 1.2)),
         (Part("body", "plastic", "OPP", 0.96, "opaque"), Part("adhesive", "plastic", "cold seal", 0.04))),
    Line("MLK", "Milk carton", "carton", "composite", "liquid packaging board", "sales", "beverage",
         (("50 cl", 17.9), ("1 l", 28.1)),
         (Part("body", "paper", "liquid packaging board", 0.75), Part("coating", "plastic", "LDPE", 0.21),
          Part("cap", "plastic", "HDPE", 0.04))),
    Line("SHR", "Shrink film six-pack", "shrink film", "plastic", "LDPE", "grouped", "beverage",
         (("6 x 50 cl", 18.5), ("6 x 1.5 l", 29.0)), food=False, recycled=50),
    Line("BOX", "Transport box", "box", "paper", "corrugated board", "transport", "",
         (("small", 310), ("large", 540)), food=False, recycled=75),
    Line("PAL", "Pallet wrap", "stretch film", "plastic", "LLDPE", "transport", "", (("per pallet", 285),), food=False),
    Line("SHP", "Shipping bag", "bag", "paper", "kraft paper", "e_commerce", "ecommerce",
         (("A4", 42), ("A3", 67)), food=False),
)  # fmt: skip
"""Weights are of the whole packaging; those of the parts are shares of it."""

MARKETS = ("FR,DE", "FR", "FR,DE,IT", "DE", "FR,BE,LU", "FR,GB")
FIELDS = (
    "sku_code", "name", "material", "material_subtype", "weight_grams", "recycled_content_percent", "food_contact",
    "markets", "gtin", "packaging_level", "packaging_format", "use_contexts", "pfas_status",
    f"annual_volume_fr_{YEAR}", f"annual_volume_de_{YEAR}",
)  # fmt: skip
FRENCH = (
    "Référence", "Désignation", "Matériau", "Sous-type de matériau", "Poids de l'emballage (g)",
    "Taux de matière recyclée", "Contact alimentaire", "Marchés", "Code-barres", "Niveau d'emballage",
    "Format d'emballage", "Usages", "Statut PFAS", f"Volume annuel FR {YEAR}", f"Volume annuel DE {YEAR}",
)  # fmt: skip
PART_HEADERS = ("Référence", "Composant", "Famille de matériau", "Polymère", "Poids (g)", "Couleur")

BAD_ROWS = (
    ("BAD-GTIN", "Bottle with a wrong check digit", "plastic", "PET", "12.8", "", "yes", "FR", "3250390017166",
     "sales", "bottle", "beverage", "absent", "1000", ""),
    ("BAD-MARKET", "Jar for a market that is none", "glass", "", "210", "", "yes", "FR,Atlantis", "",
     "sales", "jar", "food", "absent", "1000", ""),
    ("BAD-NUMBER", "Box whose weight is a range", "paper", "corrugated board", "84 - 86", "", "no", "DE", "",
     "transport", "box", "", "absent", "", "1000"),
    ("BAD-PFAS", "Wrapper with PFAS that touches food", "paper", "greaseproof paper", "3.1", "", "yes", "FR,DE", "",
     "sales", "wrap", "food", "above_limit", "5000", "7000"),
    ("WTR-01", "Water bottle again", "plastic", "PET", "11.2", "", "yes", "FR", "",
     "sales", "bottle", "beverage", "absent", "", ""),
)  # fmt: skip
"""Rows that an import rejects, one reason each; the PFAS row is refused by law since 2026-08-12."""


AMBIGUOUS = ("BAD-MARK", "Crate of one gram or a thousand", "plastic", "HDPE", "1,234", "", "no", "FR", "", "transport")
"""In the workbook only: no other text cell says which mark is the decimal one. In the CSV the other weights do."""


def good_rows() -> list[tuple[str, ...]]:
    """Return the packagings, every cell as text."""
    rows: list[tuple[str, ...]] = []
    for line in LINES:
        for size, (label, grams) in enumerate(line.sizes, 1):
            number = len(rows) + 1
            body = f"325039{number:06d}"
            rows.append((
                f"{line.key}-{size:02d}", f"{line.name} {label}", line.material, line.grade, str(grams),
                "" if line.recycled is None else f"{line.recycled:g}", "yes" if line.food else "no",
                MARKETS[number % len(MARKETS)], body + ean.calc_check_digit(body), line.level, line.format, line.uses,
                "absent" if line.food else "", str(12_000 + 1_750 * number),
                str(9_000 + 830 * number) if number % 3 else "",
            ))  # fmt: skip
    return rows


def part_rows() -> list[tuple[str, str, str, str, float, str]]:
    """Return the components of the packagings that have several."""
    return [
        (f"{line.key}-{size:02d}", part.type, part.family, part.grade, round(part.grams * grams, 2), part.colour)
        for line in LINES
        for size, (_, grams) in enumerate(line.sizes, 1)
        for part in line.parts
    ]


def write_csv(path: Path) -> None:
    """Comma separated, UTF-8, the fields' own names as headers."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\r\n").writerows([FIELDS, *good_rows(), *BAD_ROWS])


def write_workbook(path: Path) -> None:
    """Write a title, the table under French headers, numbers and GTINs as number cells, and the sheet of components."""
    with xlsxwriter.Workbook(path) as book:
        book.set_properties({"created": datetime.datetime(YEAR, 1, 1, tzinfo=datetime.UTC)})
        bold, code = book.add_format({"bold": True}), book.add_format({"num_format": "0"})
        sheet = book.add_worksheet("Emballages")
        sheet.write(0, 0, f"Portefeuille d'emballages {YEAR}", bold)
        sheet.write_row(2, 0, FRENCH, bold)
        for row, cells in enumerate((*good_rows(), *BAD_ROWS, AMBIGUOUS), 3):
            for column, cell in enumerate(cells):
                if not cell:
                    continue
                if FIELDS[column] == "gtin":
                    sheet.write_number(row, column, int(cell), code)
                elif cell.replace(".", "", 1).isdigit():
                    sheet.write_number(row, column, float(cell))
                else:
                    sheet.write_string(row, column, cell)
        parts = book.add_worksheet("Composants")
        parts.write_row(0, 0, PART_HEADERS, bold)
        for row, part in enumerate(part_rows(), 1):
            parts.write_row(row, 0, part)


if __name__ == "__main__":
    write_csv(HERE / "portfolio.csv")
    write_workbook(HERE / "portfolio.xlsx")
