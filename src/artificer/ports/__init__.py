"""The seams: what the runtime needs of the world, one file each.

Each is a Protocol of at most four methods with at least two implementations, and one conformance
suite in ``artificer.testing`` that all of them pass. This is the public place to import them from.
"""

from artificer.ports.approver import Answer, Approver, Question
from artificer.ports.attachment import Attachment, Audio, File, Image, Prompt
from artificer.ports.blobs import AgingFiles, BlobFiles, BlobStore, HasFiles, Joined
from artificer.ports.budget import (
    Amount,
    Budget,
    Correction,
    Reservation,
    Settlement,
    SpendingLimit,
    Spent,
)
from artificer.ports.builder import Builder
from artificer.ports.clock import Clock
from artificer.ports.executor import (
    Call,
    CallLocks,
    CallMonitor,
    CallProgress,
    Delegating,
    Executor,
    IdleRun,
    Lasting,
    Outliving,
    Preview,
    Previewing,
    Probed,
    Probing,
    Receipt,
)
from artificer.ports.journal import (
    NO_SPENDING,
    UNCLAIMED,
    Anchored,
    Claim,
    Durability,
    Head,
    Journal,
    Lease,
    Leases,
    Placed,
    Record,
    RunHead,
    Spending,
)
from artificer.ports.locks import Locks
from artificer.ports.provider import (
    Attaching,
    Memo,
    Payload,
    Provider,
    Requiring,
    Switching,
)
from artificer.ports.reader import RunReader, RunView
from artificer.ports.run_context import RunContext
from artificer.ports.run_index import HasRunIndex, IndexedRun, RunIndex, RunQuery
from artificer.ports.search_index import (
    Found,
    Indexed,
    IndexedText,
    Ordered,
    Reached,
    SearchIndex,
    TextQuery,
)
from artificer.ports.signals import MAX_SIGNALS, Signals
from artificer.ports.snapshots import Snapshots
from artificer.ports.storage import Storage, StorageKind, StoragePlace
from artificer.ports.versions import Versions

__all__ = [
    "Attachment",
    "Audio",
    "File",
    "Image",
    "Prompt",
    "Attaching",
    "Memo",
    "Payload",
    "Provider",
    "Requiring",
    "CallLocks",
    "CallMonitor",
    "CallProgress",
    "Outliving",
    "RunContext",
    "Call",
    "Receipt",
    "Executor",
    "Probed",
    "Probing",
    "Preview",
    "Previewing",
    "Delegating",
    "IdleRun",
    "Lasting",
    "Locks",
    "Builder",
    "Durability",
    "Head",
    "Lease",
    "Claim",
    "UNCLAIMED",
    "Spending",
    "NO_SPENDING",
    "Record",
    "RunHead",
    "Placed",
    "Ordered",
    "Found",
    "Indexed",
    "HasRunIndex",
    "IndexedRun",
    "RunIndex",
    "RunQuery",
    "IndexedText",
    "Reached",
    "SearchIndex",
    "TextQuery",
    "Leases",
    "Journal",
    "Anchored",
    "MAX_SIGNALS",
    "Signals",
    "Amount",
    "Spent",
    "Correction",
    "Budget",
    "Reservation",
    "Settlement",
    "SpendingLimit",
    "BlobStore",
    "AgingFiles",
    "BlobFiles",
    "HasFiles",
    "Joined",
    "Versions",
    "RunView",
    "RunReader",
    "Snapshots",
    "Storage",
    "StorageKind",
    "StoragePlace",
    "Switching",
    "Question",
    "Answer",
    "Approver",
    "Clock",
]
