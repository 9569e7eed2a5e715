"""The worth of a validation: how many tests ran, what became of the tests, who wrote the check.

All of it looks at texts: at what runners print, and at two versions of a file.
"""
