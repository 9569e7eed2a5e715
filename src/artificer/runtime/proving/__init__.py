"""The proofs in a journal: replay, verification, comparison, bindings and the audit trail."""
