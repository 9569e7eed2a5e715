"""A report as a file that other programs open: PDF, Word, a spreadsheet, an archive, JSON.

Each form is made from the same typed payloads as the page. A converter is an extra, is imported
when it is used, and is passed bytes only: it fetches nothing.
"""
