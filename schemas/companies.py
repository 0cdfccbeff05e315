"""Models of the reset of a sandbox."""

from schemas.answers import Answer, Instant, Number


class SandboxReset(Answer):
    """A reset of the sandbox."""

    reset_at: Instant
    skus_removed: Number


class SandboxResetResult(Answer):
    """What a reset of the sandbox did; with `dry_run` what it would do."""

    dry_run: bool
    data: SandboxReset
