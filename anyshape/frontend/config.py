"""What can be set while programs run: `anyshape.config.num_threads` and `.reassociate`."""

from anyshape.backend.pool import config

__all__ = ["config"]
