"""Files as suppliers, retailers and producers of several countries send them, each beside what a person reads in it.

One module a language, one function a file. The wording of headers and cells is that of forms and exports in use; the
companies and products are invented. Nothing here knows how the importer reads: see `test_senders.py` for that.
"""
