"""The evidence of a validation: how many tests ran, how tests changed, who wrote the check.

All of it looks at texts: at what runners print, and at two versions of a file.
"""
