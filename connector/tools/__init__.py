"""The fourteen tools (decisions §7), each a thin door over the steps and queries that the other doors use.

    answer.py      what every answer has: its instant, its sources, the next step, and that its texts are data
    arguments.py   arguments that several tools take, and the item that they name
    reading.py     one statement as the connection's company, in one round trip
    items.py       list_packaging_items, get_packaging_item
    windows.py     one item with very many parts, in pages
    portfolio.py   compliance_overview, check_market_readiness, check_missing_data
    records.py     list_declarations, list_shared_components
    rows.py        check_bulk_import
    facts.py       get_product_facts, check_regulation_statement, check_pricing_statement
    asking.py      the user's own confirmation before anything is filed
    drafting.py    generate_doc_draft, propose_sku_update, submit_supplier_document
    proposals.py   what the first two would file; documents.py the third

A tool's docstring is its description: what a model reads to choose it.
"""
