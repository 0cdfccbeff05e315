"""The packaging data file of the United Kingdom (Report Packaging Data; rollup.md, section 8).

`producer` is what the producer states, `lines` what each part of the portfolio is in the file, `rows` the file's rows,
`rules` the published error rules that every row is held against. Code lists are `rules/uk_packaging_data/`.
"""
