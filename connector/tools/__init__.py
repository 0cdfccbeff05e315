"""Defines the tools: fourteen of decisions §7, and six more that only read.

Each is a thin layer over the services and queries that `api` uses too.

    answer.py      the parts of every answer: its instant, its sources, the next step, and the notice on texts
    arguments.py   arguments that several tools take, and the item that they name
    reading.py     runs one statement as the connection's company, in one round trip
    items.py       list_packaging_items, get_packaging_item
    windows.py     pages one item with very many parts
    searches.py    the filters of that list, in an assistant's words
    changes.py     the arguments that change an item or single components
    portfolio.py   compliance_overview, check_market_readiness, check_missing_data
    figures.py     get_market_figures, list_filed_declarations
    rules.py       check_items_against_rule
    what_ifs.py    what_if
    history.py     list_changes, list_supplier_requests
    records.py     list_declarations, list_shared_components
    rows.py        check_bulk_import
    facts.py       get_product_facts, check_regulation_statement, check_pricing_statement
    asking.py      the user's own confirmation before anything is filed
    drafting.py    generate_doc_draft, propose_sku_update, submit_supplier_document
    proposals.py   the filings of the first two; documents.py that of the third

A tool's docstring is its published description, which a model reads to choose it: sentences, in English.
"""
