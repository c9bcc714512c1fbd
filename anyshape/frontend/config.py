"""What can be set while programs run: `anyshape.config.num_threads`, `.reassociate` and `.kept_bytes`."""

from anyshape.backend.pool import config

__all__ = ["config"]
