"""A process that puts blobs until it is killed: python putter.py ROOT DURABILITY.

Prints each digest once ``put`` has returned.
"""

import itertools
import sys

from artificer.storage.blobs import DiskStore

store = DiskStore(sys.argv[1], "power" if sys.argv[2] == "power" else "process")
for number in itertools.count():
    print(store.put(b"%d " % number * 5000), flush=True)
