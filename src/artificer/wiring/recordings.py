"""Recordings in a world: importing one, and testing one."""

from __future__ import annotations

from collections.abc import Mapping

from artificer.config import Config
from artificer.errors import AuthorError, TamperedError
from artificer.policies.engine import consult_here
from artificer.ports import Provider
from artificer.recordings.recording import Recording, check, import_into, read_recording
from artificer.recordings.rerun import rerun
from artificer.runtime.load import first_spec, load
from artificer.runtime.proving.replay import replay
from artificer.values.arguments import shown
from artificer.wiring.providers import mapper_of
from artificer.wiring.resources import WorldResources


async def checked_recording(
    data: bytes, config: Config, own: Mapping[str, Provider] = {}
) -> Recording:
    """Read an exported run and replay it, before it is added to a world.

    Raises:
        TamperedError: the file is damaged, too long, or does not reproduce itself.
    """
    recording = await _read(data)
    faults = await check(recording, await _mapper_of(recording, config, own))
    if faults:
        raise TamperedError(
            f"The run in this file does not replay: {faults[0]}.",
            hint="Do not trust the file; export the run again where it was executed.",
        )
    return recording


async def import_recording(world: WorldResources, data: bytes) -> str:
    """Add an exported run to a world, once it has replayed, and return its id.

    Raises what :func:`checked_recording` and :func:`add_recording` raise.
    """
    recording = await checked_recording(data, world.config, world.providers.own)
    return await add_recording(world, recording)


async def add_recording(world: WorldResources, recording: Recording) -> str:
    """Add a run that was read and checked to a world, and return its id.

    Raises:
        OperatorError: there is another run of that id.
    """
    await import_into(recording, world.storage.journal, world.storage.blobs)
    return recording.run


async def rerun_recording(data: bytes, config: Config) -> list[str]:
    """Replay an exported run and run it again; return what came out differently.

    Raises TamperedError when the file is not an exported run.
    """
    recording = await _read(data)
    provider = await _mapper_of(recording, config, {})
    faults = await check(recording, provider)
    if provider is None:
        return [*faults, "its provider is not configured here, so its requests are unproven"]
    consult = consult_here()
    found = await replay(recording.journal, recording.blobs, recording.run, provider, consult)
    faults += [f"this release words or judges it differently: {drift}" for drift in found.drift]
    if faults:
        return faults
    recorded = await load(recording.journal, recording.blobs, recording.run)
    return await rerun(recorded, recording.blobs, provider, consult)


async def _read(data: bytes) -> Recording:
    if not isinstance(data, bytes):
        raise AuthorError(
            f"{shown(data)} is not an exported run.", hint="Pass its bytes: path.read_bytes()."
        )
    return await read_recording(data)


async def _mapper_of(
    recording: Recording, config: Config, own: Mapping[str, Provider]
) -> Provider | None:
    spec = await first_spec(recording.journal, recording.blobs, recording.run)
    return mapper_of(spec, config, own)
