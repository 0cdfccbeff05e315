"""The regulator's error codes of a row once more: each condition of the published list as plain Python.

It transcribes the texts (`condition` of `errors.csv`), not the cells that the service reads (`when`), so that the two
can be compared on rows that nobody wrote down.
"""

ACTIVITIES = ["SO", "PF", "IM", "SE", "HL"]
TYPES = ["HH", "NH", "CW", "OW", "PB", "RU", "HDC", "NDC", "SP", "CLR"]
CLASSES = ["P1", "P2", "P3", "P4", "P5", "P6", "O1", "O2", "B1"]
MATERIALS = ["AL", "FC", "GL", "PC", "PL", "ST", "WD", "OT"]
RATINGS = ["R", "A", "G", "R-M", "A-M", "G-M"]
PERIODS = [
    "2023-P1",
    "2023-P2",
    "2023-P3",
    "2024-P1",
    "2024-P2",
    "2024-P3",
    "2024-P4",
    "2024-P0",
    "2025-H1",
    "2025-H2",
    "2025-P0",
    "2026-H1",
    "2026-H2",
    "2026-P0",
    "2027-H1",
    "2027-H2",
    "2027-P0",
]


def codes(row):
    """All codes that an export can meet, of one row."""
    size, period, activity = row["organisation_size"], row["submission_period"], row["packaging_activity"]
    kind, klass, material = row["packaging_type"], row["packaging_class"], row["packaging_material"]
    subtype, rating = row["packaging_material_subtype"], row["ram_rag_rating"]
    weight, units = row["packaging_material_weight"], row["packaging_material_units"]
    large, small, market = size == "L", size == "S", activity == "OM"
    from_2025 = int(period[:4]) >= 2025
    drinks = kind == "HDC" or (kind == "NDC" and large)
    household = large and kind in ("HH", "PB") and klass in ("P1", "P3", "B1", "") and from_2025
    shaped = material == "PL" and subtype.lower() in ("flexible", "rigid")
    rated = household and (material in MATERIALS and (material != "PL" or shaped))
    rated = rated or (large and from_2025 and kind == "HDC" and material == "GL")
    return {
        code
        for code, holds in {
            "01": len(row["organisation_id"]) != 6 or not row["organisation_id"].isdigit(),
            "02": bool(activity) and activity not in [*ACTIVITIES, "OM"],
            "03": kind not in TYPES,
            "04": bool(klass) and klass not in CLASSES,
            "05": material not in MATERIALS,
            "09": not _positive(weight) and not (_may_be_nothing(row) and weight.isdigit()),
            "10": bool(units) and (not _positive(units) or (_zero_return(row) and weight == "0")),
            "23": large and market and kind not in ("HH", "NH", "HDC", "PB", "CW", "OW", "CLR"),
            "25": large and market and kind == "HH" and klass != "P6",
            "26": large and market and kind == "NH" and klass != "P6",
            "27": market and kind == "SP" and klass != "P6",
            "28": large and activity in ACTIVITIES and kind == "NH" and klass not in ("P1", "P2", "P3", "P4"),
            "31": large and activity in ACTIVITIES and kind == "HH" and klass not in ("P1", "P3"),
            "34": drinks and bool(klass),
            "35": large and kind == "RU" and klass not in ("P1", "P5"),
            "36": activity in ACTIVITIES and kind == "SP" and klass not in ("P1", "P2", "P3", "P4", "P6"),
            "37": drinks and material not in ("AL", "GL", "PL", "ST"),
            "38": bool(units) and kind not in ("HDC", "NDC"),
            "39": drinks and not _positive(units),
            "43": not activity and kind in TYPES and kind not in ("CW", "OW", "CLR"),
            "44": period not in PERIODS,
            "45": material == "OT" and (not subtype.strip() or any(each in "0123456789," for each in subtype)),
            "46": len(row["subsidiary_id"]) > 32 or not all(each.isalnum() for each in row["subsidiary_id"]),
            "47": bool(subtype) and (material not in ("OT", "PL") or _plastic_without_shape(row, from_2025=from_2025)),
            "51": material == "OT" and subtype.lower() in ("plastic", "hdpe", "pet"),
            "53": large and kind == "SP",
            "100": rated and (rating not in RATINGS if rating else period != "2025-H1"),
            "101": household and material == "PL" and not subtype,
            "103": household and material == "PL" and bool(subtype) and subtype not in ("Flexible", "Rigid"),
            "105": small and material == "PL" and bool(subtype),
            "106": small and bool(rating),
            "109": large and from_2025 and bool(rating) and kind not in ("HH", "PB", "CLR")
            and not (kind == "HDC" and material == "GL"),
            "895": size not in ("L", "S"),
            "902": small and kind not in ("SP", "HDC", "CLR"),
            "903": small and kind == "SP" and klass not in ("P1", "P2", "P3", "P4", "P6"),
            "906": small and kind == "HDC" and not klass and not (_positive(weight) and int(weight) < 2**31),
            "907": small and kind == "HDC" and not klass and not (_positive(units) and int(units) < 2**31),
            "908": small and kind == "HDC" and bool(klass),
            "909": large and "P0" in period,
            "910": small and "P0" not in period,
        }.items()
        if holds
    }  # fmt: skip


def _positive(text):
    return text.isdigit() and not text.startswith("0")


def _zero_return(row):
    return (row["organisation_size"], row["packaging_type"], row["packaging_class"], row["packaging_material"]) == (
        "L",
        "OW",
        "O2",
        "OT",
    )


def _may_be_nothing(row):
    return (_zero_return(row) or row["packaging_type"] == "CLR") and not row["packaging_material_units"]


def _plastic_without_shape(row, *, from_2025):
    if row["packaging_material"] != "PL":
        return False
    if not from_2025:
        return True
    known = row["packaging_class"] in ("", *CLASSES)
    waste_or_trade = row["packaging_type"] in ("NH", "HDC", "NDC", "CW", "OW", "RU")
    return row["organisation_size"] == "L" and known and waste_or_trade
