"""A report as a Word document, by python-docx."""
