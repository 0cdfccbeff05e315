"""Defines the tools: fourteen of decisions §7, and eight more that only read.

Each is a thin layer over the services and queries that `api` uses too.

    kit.py          the parts of every answer: its instant, its sources, the next step, and the notice on texts;
                    arguments that several tools take, and the item that they name; runs one statement as the
                    connection's company, in one round trip
    skus.py         list_packaging_items, get_packaging_item, what_if; pages one item with very many parts; the filters
                    of that list, in an assistant's words
    review.py       the arguments that change an item or single components; generate_doc_draft, propose_sku_update,
                    submit_supplier_document; the filings of the first two; review.py that of the third
    figures.py      compliance_overview, check_market_readiness, check_missing_data, summarise_items;
                    get_market_figures, list_filed_declarations
    rules.py        check_items_against_rule
    audit.py        list_changes, list_supplier_requests, list_review_queue
    library.py      list_declarations, list_shared_components
    imports.py      check_bulk_import
    catalogue.py    get_product_facts, check_regulation_statement, check_pricing_statement
    assistants.py   the user's own confirmation before anything is filed

A tool's docstring is its published description, which a model reads to choose it: sentences, in English.
"""
