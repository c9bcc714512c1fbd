"""Show where the time of a call goes: profile data and three renderers."""
